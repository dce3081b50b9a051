package graph

import "github.com/purecuda/cuda/driver/cu"

// Mode says which calls of the program a capture forbids while it is open. CUDA
// forbids what could not be recorded and would act at once, such as freeing
// memory; a forbidden call fails and invalidates the capture.
type Mode = cu.CUstreamCaptureMode

// The modes, with CUDA's numbers.
const (
	// ModeGlobal forbids unsafe calls on every thread of the process. What
	// this library does in the background is exempt.
	ModeGlobal Mode = cu.CU_STREAM_CAPTURE_MODE_GLOBAL
	// ModeThreadLocal forbids them on the thread that captures.
	ModeThreadLocal Mode = cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	// ModeRelaxed forbids nothing.
	ModeRelaxed Mode = cu.CU_STREAM_CAPTURE_MODE_RELAXED
)
