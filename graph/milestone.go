package graph

import (
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// milestone is a completion event. With it this package learns, or makes another stream wait until,
// the work enqueued in a stream so far is done. Unlike an Event of package driver, it also works
// for streams and contexts that the program has closed while something else still retains them. It
// retains the context.
type milestone struct {
	refs    atomic.Int32
	event   driver.CUevent
	d       *driver.Driver // guarded, of the event's context
	context *life.Lifetime // of the event, which it keeps
}

// newMilestone makes one in the context of a stream that is held.
func newMilestone(s *driver.Stream) (*milestone, error) {
	m := &milestone{d: s.Context().Guarded(), context: s.Context().Lifetime()}
	if err := m.d.CuEventCreate(&m.event, uint32(cu.CU_EVENT_DISABLE_TIMING)); err != nil {
		return nil, err
	}
	m.context.RetainHeld() // which the stream holds
	m.refs.Store(1)
	return m, nil
}

// fits reports whether the mark can be recorded in s: only in a stream of the
// event's own context, and only if nobody else goes by where it stands now.
func (m *milestone) fits(s *driver.Stream) bool {
	return m != nil && m.d == s.Context().Guarded() && m.refs.Load() == 1
}

// record records the event after all work in s. It returns false while s is being captured: there
// every query and wait invalidates the capture, and a recorded event becomes part of the graph.
func (m *milestone) record(s *driver.Stream) (bool, error) {
	return outsideCaptures(s, func() error { return m.d.CuEventRecord(m.event, s.Raw()) })
}

// outsideCaptures makes a call about a stream while it is not being captured. It
// reports whether it was made.
func outsideCaptures(s *driver.Stream, call func() error) (bool, error) {
	if !capturing.keepOut(s) {
		return false, nil
	}
	defer capturing.letIn(s)
	var status cu.CUstreamCaptureStatus
	err := s.Context().Guarded().CuStreamIsCapturing(s.Raw(), &status)
	if err == nil && status == cu.CU_STREAM_CAPTURE_STATUS_NONE {
		err = call()
		return err == nil, err
	}
	return false, err
}

// happened queries the event without waiting.
func (m *milestone) happened() (bool, error) { return happened(m.d.CuEventQuery(m.event)) }

// happened converts the result of a query.
func happened(err error) (bool, error) {
	if e, ok := err.(*driver.Error); ok && e.Result == driver.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return err == nil, err
}

// drop gives up a reference; nil has none.
func (m *milestone) drop() error {
	if m == nil || m.refs.Add(-1) > 0 {
		return nil
	}
	defer m.context.Done()
	return m.d.CuEventDestroy(m.event)
}
