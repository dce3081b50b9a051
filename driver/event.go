package driver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// Event marks a point in a stream. The host and other streams can wait for it.
type Event struct {
	life   *life.Lifetime
	ctx    *Context
	raw    CUevent
	timing bool
	sleepy bool // created WithBlockingSync

	borrowed bool // created by BorrowEvent; life is then the context's

	seen uint32 // number of kernel faults that need not be reported; atomic
}

// EventOption changes how NewEvent creates an event.
type EventOption func(*cu.CUevent_flags)

// WithTiming makes the event record times for Elapsed, which takes longer.
func WithTiming() EventOption {
	return func(f *cu.CUevent_flags) { *f &^= cu.CU_EVENT_DISABLE_TIMING }
}

// WithBlockingSync makes waiting threads sleep instead of spinning.
func WithBlockingSync() EventOption {
	return func(f *cu.CUevent_flags) { *f |= cu.CU_EVENT_BLOCKING_SYNC }
}

// WithInterprocess allows processes to share the event. It disables timing.
func WithInterprocess() EventOption {
	return func(f *cu.CUevent_flags) { *f |= cu.CU_EVENT_INTERPROCESS | cu.CU_EVENT_DISABLE_TIMING }
}

// NewEvent creates an event. It has no timing unless an option requests it.
func (c *Context) NewEvent(opts ...EventOption) (*Event, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	flags := cu.CU_EVENT_DISABLE_TIMING
	absent.Apply(opts, &flags)
	l, err := newLifetime(c, "event")
	if err != nil {
		return nil, err
	}
	e := &Event{life: l, ctx: c, timing: flags&cu.CU_EVENT_DISABLE_TIMING == 0, sleepy: flags&cu.CU_EVENT_BLOCKING_SYNC != 0}
	if err := c.core.bound.CuEventCreate(&e.raw, uint32(flags)); err != nil {
		return nil, l.Abandon(err)
	}
	raw := e.raw
	life.Own(e, l, uint64(raw), func(d *cu.Driver) error { return d.CuEventDestroy(raw) })
	return e, nil
}

// BorrowEvent returns an Event for a handle that other code owns. The handle must stay valid while
// the Event, or a graph that refers to it, is in use. Closing the Event does nothing. Without
// timing, Elapsed returns an error.
func (c *Context) BorrowEvent(raw CUevent) (*Event, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, invalidf("no event to borrow in %v: the handle is 0", c)
	}
	return &Event{life: &c.core.life, ctx: c, raw: raw, timing: true, borrowed: true}, nil
}

// open must stay small enough to be inlined into Stream.Record and Stream.WaitEvent.
func (e *Event) open() bool { return e != nil && !e.life.Closed() }

func (e *Event) check() error {
	if e == nil || e.life == nil {
		return absentError(e == nil, "event")
	}
	return e.life.Check()
}

func (e *Event) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", e, err)
}

// Raw returns the driver's handle.
func (e *Event) Raw() CUevent {
	if e == nil {
		return 0
	}
	return e.raw
}

// Context returns the context the event belongs to.
func (e *Event) Context() *Context {
	if e == nil {
		return nil
	}
	return e.ctx
}

// String describes the event.
func (e *Event) String() string {
	if e == nil {
		return "nil event"
	}
	return fmt.Sprintf("event %#x of %v", uintptr(e.raw), e.ctx.Device())
}

// Close destroys the event. Streams that wait for the event keep waiting.
func (e *Event) Close() error {
	if e == nil || e.borrowed {
		return nil
	}
	err := e.life.Close()
	runtime.KeepAlive(e)
	return err
}

// Record records the event in s, as s.Record(e) does.
func (e *Event) Record(s *Stream) error { return s.Record(e) }

// Query reports whether the latest record of the event has completed. It returns true if the event
// was never recorded.
func (e *Event) Query() (done bool, err error) {
	if e == nil {
		return false, nilError("event")
	}
	return e.query(atomic.LoadUint32(&e.seen))
}

// query is like Query, but also returns kernel faults after the first n.
func (e *Event) query(n uint32) (done bool, err error) {
	if err := e.check(); err != nil {
		return false, err
	}
	if err := hostthread.Refuse(); err != nil {
		return false, err
	}
	done, err = e.poll()
	if done {
		err = e.faults(n)
	}
	runtime.KeepAlive(e)
	return done, e.named(err)
}

func (e *Event) faults(n uint32) error { return e.ctx.core.home.Faults.After(n, &e.seen) }

// Wait waits for the latest record of the event, as [Stream.Wait] waits for a stream. If the event
// is recorded again meanwhile, Wait may wait for that.
func (e *Event) Wait(ctx context.Context) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.life.Retain(); err != nil {
		return err
	}
	waits.now.Add(1)
	defer waits.now.Add(-1)
	n := atomic.LoadUint32(&e.seen)
	took := e.ctx.core.enter()
	over, err := e.query(n)
	leave(took)
	if over || err != nil {
		e.life.Done()
		return err
	}
	return e.named(await(ctx, e, n))
}

func (e *Event) poll() (bool, error) { return finished(e.ctx.core.loose.CuEventQuery(e.raw)) }
func (e *Event) block() error        { return e.ctx.core.guarded.CuEventSynchronize(e.raw) }

// sleeps reports whether block sleeps. Unlike for a stream, the context's flags do not matter:
// without WithBlockingSync, the driver spins.
func (e *Event) sleeps() (bool, error) { return e.sleepy, nil }

// Elapsed returns the time from start to e, precise to about 0.5 µs. Both events need timing. Until
// both complete, the error is CUDA_ERROR_NOT_READY.
func (e *Event) Elapsed(start *Event) (time.Duration, error) {
	for _, x := range []*Event{e, start} {
		if err := x.check(); err != nil {
			return 0, err
		}
		if !x.timing {
			return 0, fmt.Errorf("%v records no time; create it with WithTiming: %w", x, CUDA_ERROR_INVALID_HANDLE)
		}
	}
	if err := e.ctx.sameDriver(start.ctx, start); err != nil {
		return 0, e.named(err)
	}
	ms, err := e.elapsed(start)
	runtime.KeepAlive(start)
	runtime.KeepAlive(e)
	if err != nil {
		return 0, e.named(err)
	}
	return time.Duration(math.Round(float64(ms) * float64(time.Millisecond))), nil
}

// elapsed prefers the function of CUDA 12.8, which returns a more precise time.
func (e *Event) elapsed(start *Event) (ms float32, err error) {
	d := e.ctx.core.guarded
	if d.Has(cu.FnCuEventElapsedTime) {
		err = d.CuEventElapsedTime(&ms, start.raw, e.raw)
	} else {
		err = d.CuEventElapsedTime_v2000(&ms, start.raw, e.raw)
	}
	return ms, err
}

// Lifetime returns the event's ownership record.
func (e *Event) Lifetime() *life.Lifetime {
	if e == nil {
		return nil
	}
	return e.life
}

// done releases the reference that Wait retained.
func (e *Event) done() { e.life.Done() }

// EventOp is an operation that records an event or waits for it.
type EventOp struct {
	event *Event
	wait  bool
	refs  []life.Ref

	// Parameters of graph nodes: waitNode if wait is set, else recordNode.
	recordNode cu.CUDA_EVENT_RECORD_NODE_PARAMS
	waitNode   cu.CUDA_EVENT_WAIT_NODE_PARAMS
}

// RecordOp returns an operation that records e, as Stream.Record does.
func RecordOp(e *Event) *EventOp { return newEventOp(e, false) }

// WaitOp returns an operation that waits for e, as Stream.WaitEvent does.
func WaitOp(e *Event) *EventOp { return newEventOp(e, true) }

func newEventOp(e *Event, wait bool) *EventOp {
	o := &EventOp{event: e, wait: wait}
	if e != nil {
		o.refs = []life.Ref{e}
	}
	o.recordNode.Event, o.waitNode.Event = e.Raw(), e.Raw()
	return o
}

// Enqueue implements [Op].
func (o *EventOp) Enqueue(s *Stream) error {
	if o == nil {
		return nilError("event operation")
	}
	if e := o.event; e == nil || e.life == nil {
		return fmt.Errorf("%v: %w", o, absentError(e == nil, "event"))
	}
	if o.wait {
		return s.WaitEvent(o.event)
	}
	return s.Record(o.event)
}

// Context returns the event's context. A wait may run in any context.
func (o *EventOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.event.Context()
}

// Uses returns the event.
func (o *EventOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	if o.wait {
		return uses.Set{Refs: o.refs, Node: &o.waitNode}
	}
	return uses.Set{Refs: o.refs, Node: &o.recordNode}
}

// String describes the operation.
func (o *EventOp) String() string {
	switch {
	case o == nil:
		return "nil event operation"
	case o.wait:
		return fmt.Sprintf("wait for %v", o.event)
	}
	return fmt.Sprintf("record of %v", o.event)
}

// mark is an event that the library records in a stream to determine when the work so far is done.
type mark struct {
	core   *contextCore
	raw    CUevent
	holder *life.Lifetime // lifetime of the stream, retained for the wait
	seen   *uint32        // points to the stream's field seen
}

// markPool holds unused events. Each wait returns its event, so there are never more events than
// there were simultaneous waits.
type markPool struct {
	mu   sync.Mutex
	free []*mark
}

// markFlags returns the flags for creating marks. Marks have no timing. Whether a thread that
// blocks on a mark spins or sleeps depends on the context's flags.
func (core *contextCore) markFlags() (uint32, error) {
	sleeps, err := core.sleeps()
	if sleeps {
		return uint32(cu.CU_EVENT_DISABLE_TIMING | cu.CU_EVENT_BLOCKING_SYNC), err
	}
	return uint32(cu.CU_EVENT_DISABLE_TIMING), err
}

// Values of contextCore.sched.
const (
	schedUnknown = iota
	schedSpins
	schedSleeps
)

// sleeps reports whether the context's flags make waiting threads sleep. It queries the driver
// until one query succeeds.
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

// markStream records a mark in s. The caller must have retained s. The mark's done method releases
// s.
func (core *contextCore) markStream(s *Stream) (*mark, error) {
	m, err := core.newMark()
	if err != nil {
		return nil, err
	}
	if err := s.guardedSelf().CuEventRecord(m.raw, s.raw); err != nil {
		core.marks.put(m)
		return nil, err
	}
	m.holder, m.seen = s.life, &s.seen
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

// destroy destroys the unused events. No wait may be in progress.
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

// sleeps reports whether the context's flags make the wait sleep, as they do for
// cuStreamSynchronize.
func (m *mark) sleeps() (bool, error) { return m.core.sleeps() }

func (m *mark) faults(n uint32) error { return m.core.home.Faults.After(n, m.seen) }

// done returns the event to the pool and releases the stream.
func (m *mark) done() {
	holder := m.holder
	m.holder, m.seen = nil, nil
	m.core.marks.put(m)
	holder.Done() // may destroy both the context and the pool
}
