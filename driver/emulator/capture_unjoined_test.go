package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

// If the end of a capture is invalid for two reasons, an unjoined stream is reported rather than
// the wrong thread.
func TestUnjoinedIsFoundBeforeTheThread(t *testing.T) {
	for _, mode := range []cu.CUstreamCaptureMode{global, threadLocal, relaxed} {
		r := newRig(t)
		s, other, e := r.stream(), r.stream(), r.event(cu.CU_EVENT_DISABLE_TIMING)
		p, add := r.alloc(4), r.kernel("add")
		r.ok(r.CuStreamBeginCapture(s, mode))
		r.ok(r.CuEventRecord(e, s))
		r.ok(r.CuStreamWaitEvent(other, e, 0))
		r.ok(r.launch(add, other, p, 0, 1))
		r.elsewhere(func() {
			r.want("end on another thread", r.endCapture(s), cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		})
		r.want("once more", r.endCapture(s), cu.CUDA_ERROR_ILLEGAL_STATE)
	}
}
