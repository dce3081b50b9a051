package emulator

import (
	"sync"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/order"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// stream is an in-order queue of work. It has a goroutine as long as the queue contains work.
type stream struct {
	handle    uintptr
	ctx       *cudaContext
	flags     uint32
	id        uint64
	special   bool // a legacy or per-thread stream, which belongs to its context and is never destroyed
	destroyed bool
	attrs     launch.Stream

	queue     []task
	running   bool   // set while the stream has a goroutine
	submitted uint64 // number of the last submitted task
	done      uint64 // number of the last task that ended
	cond      *sync.Cond

	now  time.Duration   // simulated end time of the last task
	ends []time.Duration // simulated end times of all tasks, if time is simulated

	cap     *capture // nil if the stream is not capturing
	capDeps []edge   // dependencies of the next node to be captured

	// The following fields are used by checks that require the order of all work.
	lane      *order.Lane
	known     order.Progress // all work that precedes the next task
	late      order.Progress // work that running tasks turned out to be ordered after
	shortened uint64         // number of retirements when known and late were last shortened
	latest    *order.Task    // the last submitted task
	reached   *order.Task    // the last task that ended
}

const (
	legacyHandle    = uintptr(cu.CU_STREAM_LEGACY)
	perThreadHandle = uintptr(cu.CU_STREAM_PER_THREAD)
)

func newStream(ctx *cudaContext, handle uintptr, flags uint32, priority int32) *stream {
	s := &stream{
		handle: handle, ctx: ctx, flags: flags, id: ctx.e.id(),
		attrs:   launch.Stream{Priority: launch.ClampPriority(priority)},
		special: handle == legacyHandle || handle == perThreadHandle,
		cond:    sync.NewCond(&ctx.e.mu),
		lane:    new(order.Lane),
	}
	if handle == 0 {
		s.handle = ctx.e.register(s)
	}
	ctx.streams[s] = struct{}{}
	return s
}

func (s *stream) owner() *cudaContext { return s.ctx }

func (s *stream) destroy() { s.destroyed = true }

func (s *stream) isLegacy() bool { return s.handle == legacyHandle }

// blocking reports whether s is ordered with the legacy stream in both directions.
func (s *stream) blocking() bool {
	return !s.isLegacy() && s.flags&uint32(cu.CU_STREAM_NON_BLOCKING) == 0
}

// streamOf returns the stream for a handle. Handles 0 and 1 are the current context's legacy
// stream, and 2 is the calling thread's per-thread stream.
func (c call) streamOf(h uintptr) (*stream, result) {
	switch h {
	case 0, legacyHandle:
		if r := c.ctx.usable(); r != success {
			return nil, r
		}
		return c.ctx.legacy, success
	case perThreadHandle:
		if r := c.ctx.usable(); r != success {
			return nil, r
		}
		s := c.ctx.perThread[c.th.id]
		if s == nil {
			s = newStream(c.ctx, perThreadHandle, 0, 0)
			c.ctx.perThread[c.th.id] = s
		}
		return s, success
	}
	s := find[stream](c.e, h)
	if s == nil {
		return nil, errInvalidHandle
	}
	return s, s.ctx.usable()
}

// streamAt returns the stream passed as argument i (see streamOf).
func streamAt(c call, i int) (*stream, result) { return c.streamOf(c.Word(i)) }

var streamFunctions = functions{
	"cuStreamCreate":             {cuStreamCreate, current},
	"cuStreamCreateWithPriority": {cuStreamCreateWithPriority, current},
	"cuStreamDestroy":            {cuStreamDestroy, afterInit},
	"cuStreamDestroy_v2":         {cuStreamDestroy, afterInit},
	"cuStreamGetPriority":        {query(streamAt, 0, 1, func(s *stream) int32 { return s.attrs.Priority }), afterInit},
	"cuStreamGetFlags":           {query(streamAt, 0, 1, func(s *stream) uint32 { return s.flags }), afterInit},
	"cuStreamGetId":              {query(streamAt, 0, 1, func(s *stream) uint64 { return s.id }), afterInit},
	"cuStreamGetCtx":             {query(streamAt, 0, 1, func(s *stream) uintptr { return s.ctx.handle }), afterInit},
	"cuStreamGetCtx_v2":          {cuStreamGetCtxV2, afterInit},
	"cuStreamGetDevice":          {query(streamAt, 0, 1, func(s *stream) cu.CUdevice { return cu.CUdevice(s.ctx.dev.ordinal) }), afterInit},
	"cuStreamQuery":              {cuStreamQuery, afterInit},
	"cuStreamSynchronize":        {cuStreamSynchronize, afterInit},
	"cuStreamCopyAttributes":     {cuStreamCopyAttributes, afterInit},
	"cuStreamGetAttribute":       {cuStreamGetAttribute, afterInit},
	"cuStreamSetAttribute":       {cuStreamSetAttribute, afterInit},
	"cuStreamAttachMemAsync":     {cuStreamAttachMemAsync, afterInit},
}

func cuStreamCreate(c call) result { return createStream(c, 0) }

func cuStreamCreateWithPriority(c call) result { return createStream(c, c.Int32(2)) }

func createStream(c call, priority int32) result {
	flags := c.Uint32(1)
	if c.Ptr(0) == nil || flags&^uint32(cu.CU_STREAM_NON_BLOCKING) != 0 {
		return errInvalidValue
	}
	return put(c, 0, newStream(c.ctx, 0, flags, priority).handle)
}

// cuStreamDestroy returns immediately. Queued work still runs. Destroying the origin stream of a
// capture also destroys the capture.
func cuStreamDestroy(c call) result {
	s := handleAt[stream](c, 0)
	if s == nil {
		return errInvalidHandle
	}
	if s.cap != nil {
		s.cap.leave(s)
	}
	s.destroyed = true
	delete(s.ctx.streams, s)
	s.leaveOrder()
	c.e.forget(s.handle)
	return s.ctx.dev.fault
}

// cuStreamGetCtxV2 can also return a green context. The emulator has none.
func cuStreamGetCtxV2(c call) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	if green := at[uintptr](c, 2); green != nil {
		*green = 0
	}
	return put(c, 1, s.ctx.handle)
}

// cuStreamQuery fails for a capturing stream and invalidates the capture, because captured work
// never runs in the stream.
func cuStreamQuery(c call) result {
	s, r := waitable(c)
	if r != success {
		return r
	}
	if s.finished() {
		s.ctx.e.hostReached(s.now)
		s.ctx.e.hostWaitedFor(s.end()...)
		return s.ctx.dev.fault
	}
	return c.e.notReady()
}

func cuStreamSynchronize(c call) result {
	s, r := waitable(c)
	if r != success {
		return r
	}
	s.wait()
	return s.ctx.dev.fault
}

// waitable returns the stream passed as argument 0. If the stream may not be queried or waited for,
// it fails.
func waitable(c call) (*stream, result) {
	s, r := streamAt(c, 0)
	if r != success {
		return nil, r
	}
	if s.cap != nil {
		return nil, s.cap.invalidate(errUnsupported)
	}
	if r := c.e.prohibited(c.th); r != success {
		return nil, r
	}
	if r := s.implicitlyCaptured(); r != success {
		return nil, r
	}
	return s, success
}

// finished reports whether all work in s has ended. For the legacy stream, that includes the work
// in all blocking streams.
func (s *stream) finished() bool {
	if s.done < s.submitted {
		return false
	}
	if s.isLegacy() {
		for other := range s.ctx.streams {
			if other.blocking() && other.done < other.submitted {
				return false
			}
		}
	}
	return true
}

func (s *stream) wait() {
	ends := s.end() // taken before the wait, because other threads may submit more work
	for _, d := range s.barrier() {
		d.wait()
	}
	s.ctx.e.hostWaitedFor(ends...)
}

// end returns the last tasks that the host knows to have ended once it has waited for s. Without
// ordering checks, it returns nil.
//
// If s waits for an event that has already completed, no task is added to s. The last task alone
// may therefore not be ordered after the event.
func (s *stream) end() []dependency {
	if !s.ctx.e.checks(ordering) {
		return nil
	}
	return append(s.before(), dependency{s, s.submitted, order.New(s.lane, s.submitted, s.known, nil, nil)})
}

func cuStreamAttachMemAsync(c call) result {
	_, r := streamAt(c, 0)
	return r // managed memory in the emulator is always coherent
}

func cuStreamGetAttribute(c call) result {
	return streamAttribute(c, (*launch.Stream).Get)
}

func cuStreamSetAttribute(c call) result {
	return streamAttribute(c, (*launch.Stream).Set)
}

// streamAttribute takes (stream, attribute, value).
func streamAttribute(c call, do func(*launch.Stream, cu.CUlaunchAttributeID, *cu.CUlaunchAttributeValue) result) result {
	s, r := streamAt(c, 0)
	v := at[cu.CUlaunchAttributeValue](c, 2)
	switch {
	case r != success:
		return r
	case v == nil:
		return errInvalidValue
	}
	return do(&s.attrs, cu.CUlaunchAttributeID(c.Uint32(1)), v)
}

func cuStreamCopyAttributes(c call) result {
	dst, r := streamAt(c, 0)
	if r != success {
		return r
	}
	src, r := streamAt(c, 1)
	if r != success {
		return r
	}
	dst.attrs.CopyFrom(&src.attrs)
	return success
}

// operation is a piece of device work in a stream or graph node. The same value may run many times,
// so it must not change once it can run.
type operation interface {
	// run executes the operation on a stream's goroutine, without the emulator's lock. A result
	// other than success becomes a fault of the device.
	run(x *execution) result
}

// unconditional operations run even after a fault.
type unconditional interface{ runsAfterFault() }

// execution is the environment of a running operation.
type execution struct {
	e      *Emulator
	ctx    *cudaContext
	stream *stream
	now    time.Duration // simulated time
	order  *order.Task   // the running task; nil unless a check requires the order
	made   *vm.Trace     // where the program submitted the operation; nil if no check is enabled
}

// dependency is a task in a stream that must end before other work begins.
type dependency struct {
	s     *stream
	seq   uint64
	order *order.Task // nil unless a check requires the order
}

func (d dependency) met() bool { return d.s.done >= d.seq }

// wait waits on behalf of the host. The caller must hold the emulator's lock, which is released
// during the wait.
func (d dependency) wait() {
	d.block()
	e := d.s.ctx.e
	e.hostReached(d.end())
	e.hostWaitedFor(d)
}

// block waits for the work. Unlike wait, it does not update the host's clock and order. The caller
// must hold the emulator's lock, which is released during the wait.
func (d dependency) block() {
	for !d.met() {
		d.s.cond.Wait()
	}
}

// task is one entry in a stream's queue.
type task struct {
	op   operation // nil if the task is only a wait
	deps []dependency
	// submitted is the simulated time at which the host submitted the task.
	submitted time.Duration
	// order is nil unless a check requires the order.
	order *order.Task
	made  *vm.Trace // where the program submitted the task; nil if no check is enabled
}

func (s *stream) last() dependency { return dependency{s, s.submitted, s.latest} }

// appendPending appends the stream's last task if it has not ended.
func (s *stream) appendPending(deps []dependency) []dependency {
	if last := s.last(); !last.settled() {
		deps = append(deps, last)
	}
	return deps
}

// barrier returns everything that a task submitted to s now must wait for. The legacy stream and
// the blocking streams of its context wait for each other. The last element is the pending work in
// s.
func (s *stream) barrier() []dependency {
	return s.appendPending(s.implicitDeps(nil))
}

func (s *stream) implicitDeps(deps []dependency) []dependency {
	switch {
	case s.isLegacy():
		for other := range s.ctx.streams {
			if other.blocking() {
				deps = other.appendPending(deps)
			}
		}
	case s.blocking():
		deps = s.ctx.legacy.appendPending(deps)
	}
	return deps
}

// enqueue appends work to the stream and returns its task.
func (s *stream) enqueue(op operation, deps ...dependency) dependency {
	e := s.ctx.e
	s.submitted++
	order := s.order(deps)
	if e.checks(CheckHostMemory) {
		e.beginFlights(s.last(), op)
	}
	s.queue = append(s.queue, task{op, s.implicitDeps(deps), e.submitted(op), order, e.submittedAt(order)})
	if !s.running {
		s.running = true
		e.active++
		go s.work()
	}
	return s.last()
}

// submittedAt returns the call stack at which the program submits the work, for findings about it.
func (e *Emulator) submittedAt(order *order.Task) *vm.Trace {
	switch {
	case order != nil:
		return order.Made()
	case e.cfg.Check != 0:
		return vm.Here()
	}
	return nil
}

// work runs the tasks in the stream's queue. It is the stream's goroutine, and returns when the
// queue is empty.
func (s *stream) work() {
	e := s.ctx.e
	x := &execution{e: e, ctx: s.ctx, stream: s, now: s.now}
	e.mu.Lock()
	defer e.unlock()
	for head := 0; ; head++ {
		if head == len(s.queue) {
			s.queue = s.queue[:0]
			break
		}
		t := s.queue[head]
		s.queue[head] = task{}
		for _, d := range t.deps {
			d.block()
		}
		x.begin(&t)
		t.completeOrder(s)
		x.order, x.made = t.order, t.made
		s.runTask(x, t.op)
		s.finish(x)
		s.done++
		if t.order != nil {
			t.order.Forget()
			s.reached = t.order
		}
		s.cond.Broadcast()
	}
	s.running = false
	if e.active--; e.active == 0 {
		e.idle.Broadcast()
	}
}

// runTask runs one operation. After a fault or Close, it runs only unconditional operations.
func (s *stream) runTask(x *execution, op operation) {
	if op == nil {
		return
	}
	if s.ctx.dev.fault != success || x.e.closed {
		if _, ok := op.(unconditional); !ok {
			return
		}
	}
	var r result
	x.e.unlocked(func() { r = op.run(x) })
	if r != success && s.ctx.dev.fault == success {
		s.ctx.dev.fault = r
	}
}
