package graph

import (
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// milestone is an event that this package records to know, or to have another stream
// wait until, what a stream was sent so far is done. It works for streams and
// contexts that the program has closed and something else still holds, where an
// Event of package driver does not, and keeps the context.
type milestone struct {
	refs    atomic.Int32
	event   driver.CUevent
	d       *driver.Driver   // guarded, of the event's context
	context *driver.Lifetime // of the event, which it keeps
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

// record has the mark stand behind what s has. It reports false while s is being
// captured: there every query and wait breaks the capture, and an event that is
// recorded stands in the graph and not behind anything.
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

// happened asks, without waiting.
func (m *milestone) happened() (bool, error) { return happened(m.d.CuEventQuery(m.event)) }

// happened is the answer of a query.
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
