package graph

import "github.com/purecuda/cuda/driver/cu"

// Mode determines which calls of the program a capture forbids while it is open. CUDA forbids calls
// that cannot be recorded and would act at once, such as freeing memory. A forbidden call fails and
// invalidates the capture.
type Mode = cu.CUstreamCaptureMode

// The modes, with CUDA's numbers.
const (
	// ModeGlobal forbids unsafe calls on every thread of the process, except those that this
	// library makes in the background.
	ModeGlobal Mode = cu.CU_STREAM_CAPTURE_MODE_GLOBAL
	// ModeThreadLocal forbids them on the thread that captures.
	ModeThreadLocal Mode = cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	// ModeRelaxed forbids nothing.
	ModeRelaxed Mode = cu.CU_STREAM_CAPTURE_MODE_RELAXED
)
