package emulator

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
)

// prohibited checks whether the thread may make a potentially unsafe call. It invalidates the
// captures that forbid the call.
func (e *Emulator) prohibited(th *thread) result {
	r := success
	for cap := range e.captures {
		if cap.forbids(th) {
			r = cap.invalidate(errUnsupported)
		}
	}
	return r
}

// forbids implements the table of cuThreadExchangeStreamCaptureMode.
func (cap *capture) forbids(th *thread) bool {
	switch {
	case th.mode >= cu.CU_STREAM_CAPTURE_MODE_RELAXED, cap.mode == cu.CU_STREAM_CAPTURE_MODE_RELAXED:
		return false
	case cap.thread == th:
		return true
	}
	return th.mode == cu.CU_STREAM_CAPTURE_MODE_GLOBAL && cap.mode == cu.CU_STREAM_CAPTURE_MODE_GLOBAL
}

// refuseWhileCapturing is for calls that would wait for a whole context.
func (e *Emulator) refuseWhileCapturing(th *thread, ctx *cudaContext) result {
	r := e.prohibited(th)
	for cap := range e.captures {
		if cap.touches(ctx) {
			r = cap.invalidate(errUnsupported)
		}
	}
	return r
}

func (cap *capture) touches(ctx *cudaContext) bool {
	return slices.ContainsFunc(cap.streams, func(s *stream) bool { return s.ctx == ctx })
}

// implicitlyCaptured rejects use of the legacy stream while a stream that is ordered with it
// captures, because that order cannot be recorded.
func (s *stream) implicitlyCaptured() result {
	r := success
	if !s.isLegacy() {
		return r
	}
	for cap := range s.ctx.e.captures {
		if cap.blocks(s.ctx) {
			r = cap.invalidate(errImplicit)
		}
	}
	return r
}

// blocks reports whether a blocking stream of the context is in the capture.
func (cap *capture) blocks(ctx *cudaContext) bool {
	return slices.ContainsFunc(cap.streams, func(s *stream) bool { return s.ctx == ctx && s.blocking() })
}
