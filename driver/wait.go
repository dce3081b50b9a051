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

// How waiting works.
//
// A goroutine that waits in a C call occupies an OS thread, and by default the driver spins in it.
// That has the lowest latency, but a thousand waits would be a thousand spinning threads. So a
// waiting goroutine polls:
//
//   - It polls for hereTime, as long as there are no more waits than Go has processors. It is as
//     fast as the driver's blocking call, notices a cancellation at once, and lets other goroutines
//     run in between.
//   - After that, a wait that cannot be cancelled makes the blocking call, if one of the few slots
//     for it is free.
//   - All others are polled by a few goroutines that all waits share (wait_shared.go).
//
// If the program chose sleep over speed, with WithBlockingSync or CU_CTX_SCHED_BLOCKING_SYNC, the
// blocking call sleeps. It is then made soon, in another goroutine if the wait can be cancelled.
// After a cancellation that goroutine and its slot stay occupied until the device is done.
//
// Polling queries an event that was recorded when the wait began, not the stream: a stream that
// gets new work all the time is never done. Host function callbacks are not used. They serialise
// with the work of the stream, cost it several microseconds, and do not come when the context has
// failed.
//
// All of it runs guarded: waiting in one goroutine must not invalidate a capture in another, which
// an unguarded query does.

const (
	hereTime   = 2 * time.Millisecond  // of polling in the waiting goroutine
	sleepyTime = 40 * time.Microsecond // the same where the program asked for sleep

	// How often a polling goroutine yields the processor: seldom if other goroutines have
	// processors anyway, often if most are polling.
	yieldSeldom = 100 * time.Microsecond
	yieldOften  = 20 * time.Microsecond
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

// waits counts the waiting goroutines, and how many of them count as few.
var waits struct {
	now atomic.Int32
	few atomic.Int32 // GOMAXPROCS, read now and then because reading it takes a lock
}

func init() { countProcessors() }

// fewWaitsAre overrides, in tests, how many waits count as few. It is that number plus one, or 0.
var fewWaitsAre atomic.Int32

func countProcessors() {
	n := int32(runtime.GOMAXPROCS(0))
	if fixed := fewWaitsAre.Load(); fixed != 0 {
		n = fixed - 1
	}
	waits.few.Store(n)
}

// entering limits how many goroutines make the first calls of a wait on a driver written in Go.
// Such a call occupies its thread, and needs another one if it has to wait for a lock.
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

// waitable is something that can be queried and blocked on.
type waitable interface {
	poll() (done bool, err error)
	block() error
	sleeps() (bool, error) // whether block sleeps instead of spinning
	done()                 // gives back what the wait holds
}

// await returns when w is done or ctx is cancelled; done takes precedence. It calls w.Done exactly
// once. The caller has counted the wait and found it not over.
func await(ctx context.Context, w waitable) error {
	cancelled := cancellation(ctx)
	sleepy, err := w.sleeps()
	if err != nil {
		w.done()
		return err
	}
	over := false
	if !crowded() {
		over, err = pollHere(ctx, w, cancelled, sleepy)
	}
	switch {
	case over || err != nil:
		w.done()
		return err
	case cancelled == nil && (sleepy || !crowded()) && blockingSlots.take():
		defer w.done()
		defer blockingSlots.give()
		return w.block()
	case cancelled != nil && sleepy && blockingSlots.take():
		return awaitElsewhere(ctx, w, blockingSlots)
	}
	return awaitShared(ctx, w)
}

// cancellation returns ctx.Done(), or nil for a nil context, which is never cancelled.
func cancellation(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}

// pollHere polls for a limited time, and only while there are few waits. It returns the error of
// the query, or the cause of the cancellation.
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

// yieldAfter returns how long a goroutine polls before it yields.
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

// awaitElsewhere makes the blocking call in another goroutine. That goroutine owns w and the slot,
// which it returns to taken.
func awaitElsewhere(ctx context.Context, w waitable, taken *slots) error {
	answer := make(chan error, 1)
	go func() {
		defer w.done()
		defer taken.give()
		answer <- w.block()
	}()
	return answerOrCause(ctx, answer)
}

// answerOrCause waits for the result of another goroutine or a cancellation. A result that has
// arrived takes precedence.
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

// blockUnder makes a blocking call for which there is no query to poll. It releases l.
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

// finished converts the result of a query to a bool: not ready is not an error.
func finished(err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if isResult(err, CUDA_ERROR_NOT_READY) {
		return false, nil
	}
	return false, err
}

// isResult reports whether err is the driver's code, usually without walking a chain.
func isResult(err error, code CUresult) bool {
	if e, ok := err.(*Error); ok {
		return e.Result == code
	}
	return errors.Is(err, code)
}

// Shared goroutines poll the waits that are too many or too long for their own goroutines to poll.
// Each has a list and runs while it is not empty.
const (
	mostPollers    = 4
	waitsPerPoller = 64

	// Without news, the pause between two passes grows with the time since the last completed event
	// and the last new wait. Pauses shorter than minPause are skipped, because the runtime's timers
	// lengthen them.
	pauseShare = 128
	minPause   = 250 * time.Microsecond
	maxPause   = time.Millisecond
)

// sharedWait is a wait in the list of a poller. Whoever takes it out of the state pending, the
// waiting goroutine or the poller, releases what it holds.
type sharedWait struct {
	w      waitable
	state  atomic.Uint32
	answer chan error // of one
}

const (
	waitPending = iota
	waitAnswered
	waitAbandoned // by a cancellation
)

var sharedWaits = sync.Pool{New: func() any { return &sharedWait{answer: make(chan error, 1)} }}

func (e *sharedWait) recycle() {
	e.w = nil
	sharedWaits.Put(e)
}

// awaitShared waits with the help of a poller.
func awaitShared(ctx context.Context, w waitable) error {
	e := sharedWaits.Get().(*sharedWait)
	e.w = w
	e.state.Store(waitPending)
	nextPoller().add(e)
	var err error
	if cancelled := cancellation(ctx); cancelled == nil {
		err = <-e.answer
	} else {
		select {
		case err = <-e.answer:
		case <-cancelled:
			if e.state.CompareAndSwap(waitPending, waitAbandoned) {
				return context.Cause(ctx) // the poller gives back the rest
			}
			err = <-e.answer
		}
	}
	w.done()
	e.recycle()
	return err
}

// poller polls the waits of its list.
type poller struct {
	mu      sync.Mutex
	fresh   []*sharedWait // since the latest pass
	running bool
	wake    chan struct{}
}

var pollers [mostPollers]poller

func init() {
	for i := range pollers {
		pollers[i].wake = make(chan struct{}, 1)
	}
}

var pollerTurn atomic.Uint32

// nextPoller uses as many pollers as the number of waits requires, and leaves most processors to
// others.
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
		go p.run()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run makes passes over the list until it is empty.
func (p *poller) run() {
	countProcessors()
	var list []*sharedWait
	var timer *time.Timer
	for latest := time.Now(); ; {
		p.mu.Lock()
		news := len(p.fresh)
		list = append(list, p.fresh...)
		clear(p.fresh)
		p.fresh = p.fresh[:0]
		if p.running = len(list) > 0; !p.running {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		n := len(list)
		list = pass(list)
		now := time.Now()
		if news > 0 || len(list) < n {
			latest = now
		}
		pause := now.Sub(latest) / pauseShare
		if pause < minPause {
			runtime.Gosched()
			continue
		}
		if pause = min(pause, maxPause); timer == nil {
			timer = time.NewTimer(pause)
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-p.wake:
		}
	}
}

// pass polls each wait and returns those that are not over.
func pass(list []*sharedWait) []*sharedWait {
	left := list[:0]
	for _, e := range list {
		if e.state.Load() == waitAbandoned {
			e.w.done()
			e.recycle()
			continue
		}
		over, err := e.w.poll()
		switch {
		case !over && err == nil:
			left = append(left, e)
		case e.state.CompareAndSwap(waitPending, waitAnswered):
			e.answer <- err // from here on it is the waiting goroutine's
		default:
			e.w.done()
			e.recycle()
		}
	}
	clear(list[len(left):])
	return left
}

// mark is an event that the library records to learn when the work enqueued in a stream so far is
// done.
type mark struct {
	core   *contextCore
	raw    CUevent
	holder *life.Lifetime // of the stream that is waited for; the wait's reference
}

// markPool holds the unused events. A wait returns its event, so their number is the largest number
// of simultaneous waits.
type markPool struct {
	mu   sync.Mutex
	free []*mark
}

// markFlags returns flags for cheap events. A thread that blocks on one spins or sleeps as the
// context's flags say.
func (core *contextCore) markFlags() (uint32, error) {
	sleeps, err := core.sleeps()
	if sleeps {
		return uint32(cu.CU_EVENT_DISABLE_TIMING | cu.CU_EVENT_BLOCKING_SYNC), err
	}
	return uint32(cu.CU_EVENT_DISABLE_TIMING), err
}

// The values of contextCore.sched.
const (
	schedUnknown = iota
	schedSpins
	schedSleeps
)

// sleeps reports whether the context's flags make waiting threads sleep. It queries the driver
// once.
func (core *contextCore) sleeps() (bool, error) {
	sched := core.sched.Load()
	if sched == schedUnknown {
		sched = schedSpins
		if core.guarded.Has(cu.FnCuCtxGetFlags) {
			var flags uint32
			if err := core.guarded.CuCtxGetFlags(&flags); err != nil {
				return false, err
			}
			if cu.CUctx_flags(flags)&cu.CU_CTX_SCHED_MASK == cu.CU_CTX_SCHED_BLOCKING_SYNC {
				sched = schedSleeps
			}
		}
		core.sched.Store(sched)
	}
	return sched == schedSleeps, nil
}

// markStream records an event in s, which the caller retained. The mark's Done releases that
// reference.
func (core *contextCore) markStream(s *Stream) (*mark, error) {
	m, err := core.newMark()
	if err != nil {
		return nil, err
	}
	if err := s.guardedSelf().CuEventRecord(m.raw, s.raw); err != nil {
		core.marks.put(m)
		return nil, err
	}
	m.holder = s.life
	return m, nil
}

func (core *contextCore) newMark() (*mark, error) {
	if m := core.marks.get(); m != nil {
		return m, nil
	}
	flags, err := core.markFlags()
	if err != nil {
		return nil, err
	}
	m := &mark{core: core}
	if err := core.guarded.CuEventCreate(&m.raw, flags); err != nil {
		return nil, err
	}
	return m, nil
}

func (p *markPool) get() *mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	m := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return m
}

func (p *markPool) put(m *mark) {
	p.mu.Lock()
	p.free = append(p.free, m)
	p.mu.Unlock()
}

// destroy runs when no wait can be left.
func (p *markPool) destroy(d *cu.Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, m := range p.free {
		errs = append(errs, d.CuEventDestroy(m.raw))
	}
	p.free = nil
	return errors.Join(errs...)
}

func (m *mark) poll() (bool, error) { return finished(m.core.loose.CuEventQuery(m.raw)) }
func (m *mark) block() error        { return m.core.guarded.CuEventSynchronize(m.raw) }

// sleeps depends on the context, as for cuStreamSynchronize.
func (m *mark) sleeps() (bool, error) { return m.core.sleeps() }

// Done ends the wait that took the mark.
func (m *mark) done() {
	holder := m.holder
	m.holder = nil
	m.core.marks.put(m)
	holder.Done() // may destroy the context, and with it the pool
}
