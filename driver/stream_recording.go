package driver

import (
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// Recording reports whether work that is enqueued in the stream now is recorded in a graph instead
// of running. It does not disturb any capture.
func (s *Stream) Recording() (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	capturing, err := s.recording()
	runtime.KeepAlive(s)
	return capturing, s.named(err)
}

// CaptureGraph returns the graph that records the stream's work, and the number of the capture,
// which is unique in the process. Both are 0 for a stream that is not capturing. The graph belongs
// to the capture.
func (s *Stream) CaptureGraph() (graph CUgraph, id uint64, err error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	capturing, err := s.recording() // the cheaper question, which mostly is enough
	if err != nil || !capturing {
		runtime.KeepAlive(s)
		return 0, 0, s.named(err)
	}
	i, err := s.captureInfo()
	runtime.KeepAlive(s)
	switch {
	case err != nil:
		return 0, 0, s.named(err)
	case i.status == cu.CU_STREAM_CAPTURE_STATUS_NONE:
		return 0, 0, nil
	case i.status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE:
		return 0, 0, s.named(&Error{Func: cu.FnCuStreamGetCaptureInfo, Result: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED})
	}
	return i.graph, i.id, nil
}
