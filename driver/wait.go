package driver

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// How waiting works.
//
// A goroutine that waits in a C call holds an OS thread, and by default the
// driver spins in it. That has the lowest latency, and a thousand of them would
// be a thousand spinning threads. So at most blockingSlots waits block at a
// time; the others poll: for spinTime as fast as they can, then with sleeps
// that grow with the time already waited (an eighth of it, at most maxSleep),
// so that the answer is late by a fraction of the wait. The operating system's
// timer makes a short sleep of an idle process up to a millisecond long.
//
// A wait that can be cancelled polls for spinTime and then, if a slot is free,
// leaves the blocking call to another goroutine: cancellation is noticed at
// once, the answer comes a goroutine switch later than it could, and after a
// cancellation that goroutine and its slot stay taken until the device is done.
// A wait that cannot be cancelled makes the blocking call itself.
//
// Polling asks an event that was recorded when the wait began, not the stream:
// a stream that others keep feeding is never done. Host function callbacks were
// the other way to be told. They are not used: they serialise with the work of
// the stream, cost it several microseconds, and do not come when the context
// has failed.
//
// All of it runs guarded: waiting in one goroutine must not invalidate a
// capture in another, which an unguarded query does.

const (
	spinTime = 40 * time.Microsecond
	minSleep = 10 * time.Microsecond
	maxSleep = time.Millisecond
)

// slots counts the waits that may block a thread at the same time.
type slots struct {
	free atomic.Int32
}

var blockingSlots = newSlots(max(2, runtime.NumCPU()/2))

func newSlots(n int) *slots {
	s := new(slots)
	s.free.Store(int32(n))
	return s
}

func (s *slots) take() bool {
	if s.free.Add(-1) >= 0 {
		return true
	}
	s.free.Add(1)
	return false
}

func (s *slots) give() { s.free.Add(1) }

// waitable is something the driver can be asked about and can be blocked on.
type waitable interface {
	poll() (done bool, err error)
	block() error
	Done() // gives back what the wait holds
}

// await returns when w is done or ctx is cancelled; done wins. It calls w.Done
// exactly once.
func await(ctx context.Context, w waitable) error {
	cancelled := cancellation(ctx)
	if cancelled == nil && blockingSlots.take() {
		defer w.Done()
		defer blockingSlots.give()
		return w.block()
	}
	over, err := spin(w, cancelled)
	if over || err != nil {
		w.Done()
		return err
	}
	if cancelled != nil && blockingSlots.take() {
		return awaitElsewhere(ctx, w, blockingSlots)
	}
	defer w.Done()
	return awaitSleeping(ctx, w)
}

// cancellation is ctx.Done, for which a nil context is one that never is.
func cancellation(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}

// spin polls for a short time, letting other goroutines run in between.
func spin(w waitable, cancelled <-chan struct{}) (over bool, err error) {
	for start := time.Now(); time.Since(start) < spinTime; runtime.Gosched() {
		if over, err = w.poll(); over || err != nil {
			return over, err
		}
		if isClosed(cancelled) {
			return false, nil
		}
	}
	return false, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitElsewhere has another goroutine block; it owns the slot, which it gives
// back to where it was taken from, and w.
func awaitElsewhere(ctx context.Context, w waitable, taken *slots) error {
	answer := make(chan error, 1)
	go func() {
		defer w.Done()
		defer taken.give()
		answer <- w.block()
	}()
	return answerOrCause(ctx, answer)
}

// answerOrCause waits for the answer of another goroutine or a cancellation. An
// answer that is there wins.
func answerOrCause(ctx context.Context, answer <-chan error) error {
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-answer:
		return err
	default:
		return context.Cause(ctx)
	}
}

// awaitSleeping polls with growing sleeps. They are short enough that a
// cancellation need not interrupt one.
func awaitSleeping(ctx context.Context, w waitable) error {
	cancelled := cancellation(ctx)
	for start := time.Now(); ; {
		if over, err := w.poll(); over || err != nil {
			return err
		}
		if isClosed(cancelled) {
			return context.Cause(ctx)
		}
		time.Sleep(min(max(time.Since(start)/8, minSleep), maxSleep))
	}
}

// blockUnder makes a blocking call that has no query to poll. It gives l back.
func blockUnder(ctx context.Context, l *Lifetime, call func() error) error {
	if cancellation(ctx) == nil {
		defer l.Done()
		return call()
	}
	answer := make(chan error, 1)
	go func() {
		defer l.Done()
		answer <- call()
	}()
	return answerOrCause(ctx, answer)
}

// finished turns the answer of a query into a bool: not ready is no error.
func finished(err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if isResult(err, CUDA_ERROR_NOT_READY) {
		return false, nil
	}
	return false, err
}

// isResult reports whether err is the driver's code, usually without walking
// a chain.
func isResult(err error, code CUresult) bool {
	if e, ok := err.(*Error); ok {
		return e.Result == code
	}
	return errors.Is(err, code)
}
