package inflight

import (
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/internal/life"
)

// CompletionEvent completes when the work enqueued in a stream so far has ended, and other streams
// can wait for it. Unlike an Event of package driver, it also works for streams and contexts that
// the program has closed, as long as they are retained. It retains its context.
type CompletionEvent struct {
	refs    atomic.Int32
	event   driver.CUevent
	d       *driver.Driver // guarded, bound to the event's context
	context *life.Lifetime // the event's context, which the event retains
}

// newEvent creates an event in the context of a stream that the caller retained.
func newEvent(s *driver.Stream) (*CompletionEvent, error) {
	m := &CompletionEvent{d: s.Context().Guarded(), context: s.Context().Lifetime()}
	if err := m.d.CuEventCreate(&m.event, uint32(cu.CU_EVENT_DISABLE_TIMING)); err != nil {
		return nil, err
	}
	m.context.RetainHeld() // cannot fail: the stream retains the context
	m.refs.Store(1)
	return m, nil
}

// fits reports whether the event can be recorded in s. An event can be recorded only in a stream of
// its own context, and only if nothing else uses it.
func (m *CompletionEvent) fits(s *driver.Stream) bool {
	return m != nil && m.d == s.Context().Guarded() && m.refs.Load() == 1
}

// record records the event after all work in s. While s is being captured, it does nothing and
// returns false, because the event would become part of the capture.
func (m *CompletionEvent) record(s *driver.Stream) (bool, error) {
	return outsideCaptures(s, func() error { return m.d.CuEventRecord(m.event, s.Raw()) })
}

// outsideCaptures makes a call for a stream unless the stream is being captured, and reports
// whether it made the call. During the call, package graph cannot begin to capture the stream.
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

func (m *CompletionEvent) completed() (bool, error) { return completed(m.d.CuEventQuery(m.event)) }

// completed converts the result of a query: for CUDA_ERROR_NOT_READY it returns false and no error.
func completed(err error) (bool, error) {
	if e, ok := err.(*driver.Error); ok && e.Result == driver.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return err == nil, err
}

// release releases a reference. On nil it does nothing.
func (m *CompletionEvent) release() error {
	if m == nil || m.refs.Add(-1) > 0 {
		return nil
	}
	defer m.context.Done()
	return m.d.CuEventDestroy(m.event)
}
