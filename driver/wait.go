package driver

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// How a goroutine waits
//
// A goroutine that waits in a C call occupies an OS thread, and by default the driver spins in it.
// That has the lowest latency, but a thousand waits would occupy a thousand spinning threads. A
// waiting goroutine therefore polls:
//
//   - It polls for hereTime, as long as there are no more waits than Go has processors. Polling
//     is as fast as the driver's blocking call, detects a cancellation at once, and yields to other
//     goroutines.
//   - After that, a wait that cannot be cancelled makes the blocking call, if one of the few
//     slots for blocking calls is free.
//   - All other waits are polled by a few goroutines that they share (see poller).
//
// If the program chose sleep over speed, with WithBlockingSync or CU_CTX_SCHED_BLOCKING_SYNC, the
// blocking call sleeps and is made after sleepyTime, or at once if the program's recent waits were
// longer than that. There are more slots for calls that sleep, because a sleeping thread costs only
// memory. If the wait can be cancelled, another goroutine makes the call. After a cancellation, that
// goroutine and its slot stay occupied until the device is done.
//
// A poll queries an event that was recorded when the wait began. It does not query the stream,
// because a stream that constantly receives new work is never done. Host function callbacks would
// not do either: they run between the stream's other work, delay it by several microseconds, and
// are not called after the context has failed.
//
// All calls are guarded. An unguarded query in one goroutine would invalidate a capture in another.

const (
	hereTime   = 2 * time.Millisecond  // how long the waiting goroutine polls
	sleepyTime = 40 * time.Microsecond // how long it polls if the program chose sleep over speed

	// A polling goroutine yields its processor at one of these intervals. It uses yieldOften if the
	// number of waits exceeds half the number of processors.
	yieldSeldom = 100 * time.Microsecond
	yieldOften  = 20 * time.Microsecond
)

// slots limits how many waits block a thread at the same time.
type slots struct {
	free atomic.Int32
}

var (
	blockingSlots = newSlots(max(2, runtime.NumCPU()/2)) // for threads that spin
	sleepingSlots = newSlots(max(64, runtime.NumCPU()))
)

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

// waits counts the waiting goroutines. At most waits.few goroutines poll for themselves.
var waits struct {
	now atomic.Int32
	few atomic.Int32 // GOMAXPROCS, cached because reading it takes a lock
}

func init() { countProcessors() }

// fewWaitsAre overrides waits.few in tests. It holds the value plus one. 0 means no override.
var fewWaitsAre atomic.Int32

func countProcessors() {
	n := int32(runtime.GOMAXPROCS(0))
	if fixed := fewWaitsAre.Load(); fixed != 0 {
		n = fixed - 1
	}
	waits.few.Store(n)
}

// entering limits how many goroutines make the first calls of a wait on a driver written in Go.
// Such a call occupies its thread. If it blocks on a lock, it occupies another thread as well.
var entering = make(chan struct{}, max(4, runtime.NumCPU()))

func (core *contextCore) enter() (entered bool) {
	if entered = core.bound.Proc(cu.FnCuEventQuery).IsGo(); entered {
		entering <- struct{}{}
	}
	return entered
}

func leave(entered bool) {
	if entered {
		<-entering
	}
}

func crowded() bool { return waits.now.Load() > waits.few.Load() }

// waitable is an object whose completion can be queried or waited for.
type waitable interface {
	poll() (done bool, err error)
	block() error
	sleeps() (bool, error) // whether block sleeps instead of spinning
	// faults returns the kernel faults after the first n. Call it after success and before done.
	faults(n uint32) error
	done() // releases the references held by the wait
}

// settle ends a wait with the result of its query or blocking call.
func settle(w waitable, n uint32, err error) error {
	if err == nil {
		err = w.faults(n)
	}
	w.done()
	return err
}

// await returns when w is done, when its query fails, or when ctx is cancelled. If w is done, the
// cancellation is ignored. await calls w.done exactly once. The caller must have counted the wait
// in waits.now and queried w once. await also returns kernel faults after the first n.
func await(ctx context.Context, w waitable, n uint32) error {
	cancelled := cancellation(ctx)
	sleepy, err := w.sleeps()
	if err != nil {
		w.done()
		return err
	}
	over, free := false, blockingSlots
	if sleepy {
		free = sleepingSlots
	}
	if !crowded() && (!sleepy || sleepyPolls.worthwhile()) {
		over, err = pollHere(ctx, w, cancelled, sleepy)
		if sleepy {
			sleepyPolls.learn(over)
		}
	}
	switch {
	case over || err != nil:
		return settle(w, n, err)
	case cancelled == nil && (sleepy || !crowded()) && free.take():
		err = w.block()
		free.give()
		return settle(w, n, err)
	case cancelled != nil && sleepy && free.take():
		return awaitElsewhere(ctx, w, n, free)
	}
	return awaitShared(ctx, w, n)
}

// pollStats decides whether waits that may sleep poll first. Polling is pointless if the device
// usually works for longer than sleepyTime.
type pollStats struct {
	vain    atomic.Int32 // consecutive polls that ended before the work did
	skipped atomic.Uint32
}

const (
	vainPolls  = 8  // after this many polls in vain, most waits do not poll
	pollsAgain = 16 // one in this many waits still polls
)

var sleepyPolls pollStats

func (p *pollStats) worthwhile() bool {
	return p.vain.Load() < vainPolls || p.skipped.Add(1)%pollsAgain == 0
}

func (p *pollStats) learn(over bool) {
	if over {
		p.vain.Store(0)
	} else if p.vain.Load() < vainPolls {
		p.vain.Add(1)
	}
}

// cancellation returns ctx.Done(), or nil for a nil context, which is never cancelled.
func cancellation(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}

// pollHere polls for a limited time, and only while there are few waits. It returns the query's
// error or the cause of the cancellation. If the time has run out or there are too many waits, it
// returns false and nil.
func pollHere(ctx context.Context, w waitable, cancelled <-chan struct{}, sleepy bool) (over bool, err error) {
	limit := hereTime
	if sleepy {
		limit = sleepyTime
	}
	start := time.Now()
	for yielded := time.Duration(0); ; {
		if over, err = w.poll(); over || err != nil {
			return over, err
		}
		if isClosed(cancelled) {
			return false, context.Cause(ctx)
		}
		took := time.Since(start)
		if took >= limit || crowded() {
			return false, nil
		}
		if took-yielded >= yieldAfter() {
			runtime.Gosched()
			yielded = took
		}
	}
}

func yieldAfter() time.Duration {
	if 2*waits.now.Load() > waits.few.Load() {
		return yieldOften
	}
	return yieldSeldom
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// awaitElsewhere makes the blocking call in another goroutine. After a cancellation, that goroutine
// owns w. In any case, it returns the slot to taken.
func awaitElsewhere(ctx context.Context, w waitable, n uint32, taken *slots) error {
	e := newSharedWait(w, n)
	e.taken = taken
	go e.blocks()
	return e.wait(ctx)
}

// block makes the blocking call of a wait.
func (e *sharedWait) block() {
	err := e.w.block()
	e.taken.give()
	e.end(err)
}

// answerOrCause waits for another goroutine's result or for a cancellation. If both are available,
// it returns the result.
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

// blockUnder makes a blocking call for which there is no query to poll. It releases l when the call
// has returned, even after a cancellation.
func blockUnder(ctx context.Context, l *life.Lifetime, call func() error) error {
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

// finished converts the error of a query to a bool: not ready is not an error.
func finished(err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if isResult(err, CUDA_ERROR_NOT_READY) {
		return false, nil
	}
	return false, err
}

// isResult reports whether err has the driver's code. It usually avoids walking an error chain.
func isResult(err error, code CUresult) bool {
	if e, ok := err.(*Error); ok {
		return e.Result == code
	}
	return errors.Is(err, code)
}

// If there are too many waits, or they take too long, shared goroutines poll for them. Each of
// these pollers has a list of waits and runs until the list is empty.
const (
	mostPollers    = 4
	waitsPerPoller = 64

	// The pause between two passes grows with the time since an event last completed or a wait was
	// last added. Pauses shorter than minPause are skipped, because the runtime's timers would
	// lengthen them.
	pauseShare = 128
	minPause   = 250 * time.Microsecond
	maxPause   = time.Millisecond
)

// sharedWait is a wait that is served by another goroutine: a poller, or one that makes the
// blocking call. That goroutine and a cancelled waiter compete to change the state from pending.
// The loser releases the wait's references.
type sharedWait struct {
	w      waitable
	n      uint32 // number of kernel faults to ignore: see await
	state  atomic.Uint32
	answer chan error // buffered for one result, so that the other goroutine does not block
	taken  *slots     // the slots to which the blocking call returns its slot
	blocks func()     // the method value of block, created once to avoid an allocation per go statement
}

const (
	waitPending = iota
	waitAnswered
	waitAbandoned // cancelled by the waiting goroutine
)

var sharedWaits sync.Pool

func newSharedWait(w waitable, n uint32) *sharedWait {
	e, ok := sharedWaits.Get().(*sharedWait)
	if !ok {
		e = &sharedWait{answer: make(chan error, 1)}
		e.blocks = e.block
	}
	e.w, e.n = w, n
	e.state.Store(waitPending)
	return e
}

func (e *sharedWait) recycle() {
	e.w, e.taken = nil, nil
	sharedWaits.Put(e)
}

// end passes the result to the waiting goroutine. If that goroutine was cancelled, end releases the
// wait.
func (e *sharedWait) end(err error) {
	if e.state.CompareAndSwap(waitPending, waitAnswered) {
		e.answer <- err // the waiting goroutine now owns e
		return
	}
	e.w.done()
	e.recycle()
}

// wait waits for the result or for a cancellation. If both are available, it returns the result.
func (e *sharedWait) wait(ctx context.Context) (err error) {
	if cancelled := cancellation(ctx); cancelled == nil {
		err = <-e.answer
	} else {
		select {
		case err = <-e.answer:
		case <-cancelled:
			if e.state.CompareAndSwap(waitPending, waitAbandoned) {
				return context.Cause(ctx) // the other goroutine will release e
			}
			err = <-e.answer
		}
	}
	err = settle(e.w, e.n, err)
	e.recycle()
	return err
}

func awaitShared(ctx context.Context, w waitable, n uint32) error {
	e := newSharedWait(w, n)
	nextPoller().add(e)
	return e.wait(ctx)
}

type poller struct {
	mu      sync.Mutex
	fresh   []*sharedWait // added since the latest pass
	running bool
	wake    chan struct{}
	starts  func() // the method value of run, created once to avoid an allocation per go statement

	// The state of the running poller. It is kept so that the next poller need not allocate it.
	list  []*sharedWait
	timer *time.Timer // nil until the first pause
}

var pollers [mostPollers]poller

func init() {
	for i := range pollers {
		pollers[i].wake = make(chan struct{}, 1)
		pollers[i].starts = pollers[i].run
	}
}

var pollerTurn atomic.Uint32

// nextPoller selects a poller for a new wait. It uses only as many pollers as the number of waits
// requires, which leaves most processors to other goroutines.
func nextPoller() *poller {
	n := min((waits.now.Load()+waitsPerPoller-1)/waitsPerPoller, waits.few.Load()/4, mostPollers)
	if n <= 1 {
		return &pollers[0]
	}
	return &pollers[pollerTurn.Add(1)%uint32(n)]
}

func (p *poller) add(e *sharedWait) {
	p.mu.Lock()
	p.fresh = append(p.fresh, e)
	start := !p.running
	p.running = true
	p.mu.Unlock()
	if start {
		go p.starts()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *poller) run() {
	countProcessors()
	for latest := time.Now(); ; {
		p.mu.Lock()
		news := len(p.fresh)
		p.list = append(p.list, p.fresh...)
		clear(p.fresh)
		p.fresh = p.fresh[:0]
		n := len(p.list)
		if p.running = n > 0; !p.running {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.list = pass(p.list)
		now := time.Now()
		if news > 0 || len(p.list) < n {
			latest = now
		}
		pause := now.Sub(latest) / pauseShare
		if pause < minPause {
			runtime.Gosched()
			continue
		}
		if pause = min(pause, maxPause); p.timer == nil {
			p.timer = time.NewTimer(pause)
		} else {
			p.timer.Reset(pause)
		}
		select {
		case <-p.timer.C:
		case <-p.wake:
		}
	}
}

// pass polls each wait once and returns the waits that are not done. It releases abandoned waits.
func pass(list []*sharedWait) []*sharedWait {
	left := list[:0]
	for _, e := range list {
		if e.state.Load() == waitAbandoned {
			e.w.done()
			e.recycle()
			continue
		}
		if over, err := e.w.poll(); over || err != nil {
			e.end(err)
		} else {
			left = append(left, e)
		}
	}
	clear(list[len(left):])
	return left
}
