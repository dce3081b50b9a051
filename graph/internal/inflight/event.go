package inflight

import (
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/internal/life"
)

// CompletionEvent shows when the work enqueued in a stream so far is done, and makes other streams
// wait for it. Unlike an Event of package driver, it also works for streams and contexts that the
// program has closed while something else retains them. It retains the context.
type CompletionEvent struct {
	refs    atomic.Int32
	event   driver.CUevent
	d       *driver.Driver // guarded, of the event's context
	context *life.Lifetime // of the event, which retains it
}

// newEvent creates an event in the context of a stream that the caller retained.
func newEvent(s *driver.Stream) (*CompletionEvent, error) {
	m := &CompletionEvent{d: s.Context().Guarded(), context: s.Context().Lifetime()}
	if err := m.d.CuEventCreate(&m.event, uint32(cu.CU_EVENT_DISABLE_TIMING)); err != nil {
		return nil, err
	}
	m.context.RetainHeld() // the stream retains it
	m.refs.Store(1)
	return m, nil
}

// fits reports whether the event can be recorded in s: only in a stream of its own context, and
// only if it has no other user.
func (m *CompletionEvent) fits(s *driver.Stream) bool {
	return m != nil && m.d == s.Context().Guarded() && m.refs.Load() == 1
}

// record records the event after all work in s. It returns false while s is being captured: there
// every query and wait invalidates the capture, and a recorded event becomes part of the graph.
func (m *CompletionEvent) record(s *driver.Stream) (bool, error) {
	return outsideCaptures(s, func() error { return m.d.CuEventRecord(m.event, s.Raw()) })
}

// outsideCaptures makes a call about a stream while no capture includes it. It reports whether it
// made the call.
func outsideCaptures(s *driver.Stream, call func() error) (bool, error) {
	if !captures.All.KeepOut(s) {
		return false, nil
	}
	defer captures.All.LetIn(s)
	var status cu.CUstreamCaptureStatus
	err := s.Context().Guarded().CuStreamIsCapturing(s.Raw(), &status)
	if err == nil && status == cu.CU_STREAM_CAPTURE_STATUS_NONE {
		err = call()
		return err == nil, err
	}
	return false, err
}

// completed queries the event without waiting.
func (m *CompletionEvent) completed() (bool, error) { return completed(m.d.CuEventQuery(m.event)) }

// completed converts the result of a query.
func completed(err error) (bool, error) {
	if e, ok := err.(*driver.Error); ok && e.Result == driver.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return err == nil, err
}

// release gives up a reference. Nil has none.
func (m *CompletionEvent) release() error {
	if m == nil || m.refs.Add(-1) > 0 {
		return nil
	}
	defer m.context.Done()
	return m.d.CuEventDestroy(m.event)
}
