package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/cu"
)

// event is a CUevent. Each record replaces the point in a stream that the event marks. A wait
// refers to the point at the time of the call.
type event struct {
	handle   uintptr
	ctx      *cudaContext
	flags    uint32
	recorded *recordedPoint // nil if the event was never recorded
	captured *capturedPoint // nil unless the event's last record was captured
}

type recordedPoint struct {
	dependency
	at time.Duration // time at which the stream reached the point; set at that moment
}

// capturedPoint is the point in a capturing stream where an event was recorded: the stream's
// dependencies at that time.
type capturedPoint struct {
	cap  *capture
	deps []edge
}

func (ev *event) owner() *cudaContext { return ev.ctx }
func (ev *event) destroy()            {}

const eventFlags = uint32(cu.CU_EVENT_BLOCKING_SYNC | cu.CU_EVENT_DISABLE_TIMING | cu.CU_EVENT_INTERPROCESS)

var eventFunctions = functions{
	"cuEventCreate":          {cuEventCreate, current},
	"cuEventDestroy":         {cuEventDestroy, afterInit},
	"cuEventDestroy_v2":      {cuEventDestroy, afterInit},
	"cuEventRecord":          {cuEventRecord, afterInit},
	"cuEventRecordWithFlags": {cuEventRecordWithFlags, afterInit},
	"cuEventQuery":           {cuEventQuery, afterInit},
	"cuEventSynchronize":     {cuEventSynchronize, afterInit},
	"cuEventElapsedTime":     {cuEventElapsedTime, afterInit},
	"cuEventElapsedTime_v2":  {cuEventElapsedTime, afterInit},
	"cuStreamWaitEvent":      {cuStreamWaitEvent, afterInit},
}

func cuEventCreate(c call) result {
	flags := c.Uint32(1)
	switch {
	case c.Ptr(0) == nil || flags&^eventFlags != 0:
		return errInvalidValue
	case flags&uint32(cu.CU_EVENT_INTERPROCESS) != 0 && flags&uint32(cu.CU_EVENT_DISABLE_TIMING) == 0:
		return errInvalidValue
	}
	ev := &event{ctx: c.ctx, flags: flags}
	ev.handle = c.e.register(ev)
	return put(c, 0, ev.handle)
}

func cuEventDestroy(c call) result {
	ev := handleAt[event](c, 0)
	if ev == nil {
		return errInvalidHandle
	}
	c.e.forget(ev.handle)
	return ev.ctx.dev.fault
}

// eventAt returns the event passed as argument i. If the event's context is not usable, it fails.
func eventAt(c call, i int) (*event, result) {
	ev := handleAt[event](c, i)
	if ev == nil {
		return nil, errInvalidHandle
	}
	return ev, ev.ctx.usable()
}

func cuEventRecord(c call) result { return recordEvent(c, 0) }

func cuEventRecordWithFlags(c call) result { return recordEvent(c, c.Uint32(2)) }

func recordEvent(c call, flags uint32) result {
	ev, r := eventAt(c, 0)
	if r != success {
		return r
	}
	s, r := streamAt(c, 1)
	external := flags == uint32(cu.CU_EVENT_RECORD_EXTERNAL)
	switch {
	case r != success:
		return r
	case flags > uint32(cu.CU_EVENT_RECORD_EXTERNAL):
		return errInvalidValue
	case ev.ctx != s.ctx:
		return errInvalidHandle
	case s.cap != nil && external:
		return s.record(&eventRecordNode{ev})
	case s.cap != nil:
		return s.captureEvent(ev)
	case external:
		return errIllegalState
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	ev.record(s)
	return success
}

func (ev *event) record(s *stream) {
	m := &recordedPoint{dependency: dependency{s: s}}
	ev.recorded, ev.captured = m, nil
	m.dependency = s.enqueue((*recordOp)(m))
}

// recordOp is the operation that stores the time when the stream reaches the event.
type recordOp recordedPoint

func (m *recordOp) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	return m.locked(x)
}

// locked is like run, but the caller must hold the emulator's lock.
func (m *recordOp) locked(x *execution) result {
	m.at = x.time()
	return success
}

// reached reports whether all work before the event has ended.
func (ev *event) reached() bool { return ev.recorded == nil || ev.recorded.met() }

// observable returns an error if the program may not query the event or wait for it. If the event
// was recorded in an active capture, observable invalidates the capture.
func (ev *event) observable(c call) result {
	if ev.captured != nil && ev.captured.cap.over {
		return errInvalidValue // the event was never recorded outside the capture
	}
	if ev.captured != nil {
		return ev.captured.cap.invalidate(errCapturedEvent)
	}
	return c.e.prohibited(c.th)
}

func cuEventQuery(c call) result {
	ev, r := eventAt(c, 0)
	if r != success {
		return r
	}
	if r := ev.observable(c); r != success {
		return r
	}
	if !ev.reached() {
		return c.e.notReady()
	}
	if ev.recorded != nil {
		c.e.hostReached(ev.recorded.end())
		c.e.hostWaitedFor(ev.recorded.dependency)
	}
	return ev.ctx.dev.fault
}

func cuEventSynchronize(c call) result {
	ev, r := eventAt(c, 0)
	if r != success {
		return r
	}
	if r := ev.observable(c); r != success {
		return r
	}
	if m := ev.recorded; m != nil {
		m.wait()
	}
	return ev.ctx.dev.fault
}

func cuEventElapsedTime(c call) result {
	out := at[float32](c, 0)
	start, r := eventAt(c, 1)
	if r != success {
		return r
	}
	end, r := eventAt(c, 2)
	untimed := uint32(cu.CU_EVENT_DISABLE_TIMING)
	switch {
	case r != success:
		return r
	case out == nil:
		return errInvalidValue
	case start.captured != nil || end.captured != nil:
		return errCapturedEvent
	case start.ctx.dev != end.ctx.dev: // each device has its own clock
		return errInvalidHandle
	case (start.flags|end.flags)&untimed != 0, start.recorded == nil, end.recorded == nil:
		return errInvalidHandle
	case !start.reached() || !end.reached():
		return c.e.notReady()
	}
	*out = float32((end.recorded.at - start.recorded.at).Seconds() * 1e3)
	return success
}

func cuStreamWaitEvent(c call) result {
	s, r := streamAt(c, 0)
	if r != success {
		return r
	}
	ev, r := eventAt(c, 1)
	flags := c.Uint32(2)
	external := flags == uint32(cu.CU_EVENT_WAIT_EXTERNAL)
	switch {
	case r != success:
		return r
	case flags > uint32(cu.CU_EVENT_WAIT_EXTERNAL):
		return errInvalidValue
	case s.cap != nil && external && (ev.captured == nil || !ev.captured.cap.over):
		return s.record(&eventWaitNode{ev})
	case external && s.cap == nil:
		return errIllegalState
	case s.cap != nil || ev.captured != nil:
		return s.waitCaptured(ev)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	if ev.recorded == nil {
		return success
	}
	s.learn(ev.recorded.dependency)
	if !ev.recorded.settled() {
		s.enqueue(nil, ev.recorded.dependency)
	}
	return success
}

func cuCtxRecordEvent(c call) result {
	ctx := contextAt(c, 0)
	if r := ctx.usable(); r != success {
		return r
	}
	ev, r := eventAt(c, 1)
	switch {
	case r != success:
		return r
	case ev.ctx != ctx:
		return errInvalidHandle
	}
	if r := c.e.refuseWhileCapturing(c.th, ctx); r != success {
		return r
	}
	m := &recordedPoint{dependency: dependency{s: ctx.legacy}}
	ev.recorded, ev.captured = m, nil
	for s := range ctx.streams {
		ctx.legacy.learn(s.last())
	}
	m.dependency = ctx.legacy.enqueue((*recordOp)(m), ctx.pending()...)
	return success
}

func cuCtxWaitEvent(c call) result {
	ctx := contextAt(c, 0)
	if r := ctx.usable(); r != success {
		return r
	}
	ev, r := eventAt(c, 1)
	if r != success {
		return r
	}
	if r := c.e.refuseWhileCapturing(c.th, ctx); r != success {
		return r
	}
	if ev.recorded == nil {
		return success
	}
	for s := range ctx.streams {
		s.learn(ev.recorded.dependency)
	}
	if ev.recorded.settled() {
		return success
	}
	for s := range ctx.streams {
		s.enqueue(nil, ev.recorded.dependency)
	}
	return success
}

// eventRecordNode records an event when its graph runs, and eventWaitNode waits for an event.
type (
	eventRecordNode struct{ ev *event }
	eventWaitNode   struct{ ev *event }
)

func (*eventRecordNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD }

func (*eventWaitNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT }

// run records the event for the running launch. A wait for the event returns only when the whole
// launch has ended. That is later than on a device, but never earlier. The recorded time is the
// time at which the node runs.
func (n *eventRecordNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := &recordedPoint{dependency: dependency{x.stream, x.stream.done + 1, x.order}}
	n.ev.recorded, n.ev.captured = m, nil
	return (*recordOp)(m).locked(x)
}

func (n *eventWaitNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := n.ev.recorded
	if m == nil || m.s == x.stream {
		return success // the stream order already orders the work after the event
	}
	for !m.met() && x.e.running.Err() == nil {
		m.s.cond.Wait()
	}
	x.now = max(x.now, m.end())
	x.learn(m.dependency)
	return success
}

func eventOf(c call, h uintptr) (*event, result) {
	if h == 0 {
		return nil, errInvalidValue
	}
	ev := find[event](c.e, h)
	if ev == nil {
		return nil, errInvalidHandle
	}
	return ev, success
}

func readRecord(c call, i int, _ *eventRecordNode) (*eventRecordNode, result) {
	ev, r := eventOf(c, c.Word(i))
	return &eventRecordNode{ev}, r
}

func readWait(c call, i int, _ *eventWaitNode) (*eventWaitNode, result) {
	ev, r := eventOf(c, c.Word(i))
	return &eventWaitNode{ev}, r
}
