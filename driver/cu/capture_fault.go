package cu

import (
	"sync"
	"sync/atomic"
)

// captureFaults stores the most recent failed calls that may have invalidated a stream capture. The
// capture itself fails only when it ends, and the driver does not report which call invalidated it.
// Storing faults adds no overhead to successful calls.
var captureFaults struct {
	open  atomic.Int32 // number of captures that are being watched
	count atomic.Uint64
	mu    sync.Mutex
	last  [8]*Error
}

// noteCaptureFault stores a failure that can invalidate a capture. While a capture is being
// watched, every failure counts, because the rejected work may have been intended for the capture.
func noteCaptureFault(e *Error) {
	if captureFaults.open.Load() == 0 && !ofCapture(e.Result) {
		return
	}
	captureFaults.mu.Lock()
	defer captureFaults.mu.Unlock()
	n := captureFaults.count.Load()
	captureFaults.last[n%uint64(len(captureFaults.last))] = e
	captureFaults.count.Store(n + 1)
}

// ofCapture reports whether the code means that a capture forbids the call.
func ofCapture(r CUresult) bool {
	switch r {
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_MERGE,
		CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
		CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_CAPTURED_EVENT:
		return true
	}
	return false
}

// WatchCapture makes the package store every failed call until done is called, not only calls whose
// code refers to a capture.
func WatchCapture() (done func()) {
	captureFaults.open.Add(1)
	return func() { captureFaults.open.Add(-1) }
}

// CaptureFaults returns the number of failed calls, on any goroutine of this process, that may have
// invalidated a stream capture. Failures with the codes 900, 902 and 904 to 907 always count.
// Between WatchCapture and its done function, every failure counts.
func CaptureFaults() uint64 { return captureFaults.count.Load() }

// CaptureFaultsSince returns the failed calls since CaptureFaults returned n, the earliest first.
// Only the latest eight are stored. If several captures are open, a call may have invalidated any
// of them: the driver does not report which.
func CaptureFaultsSince(n uint64) []*Error {
	captureFaults.mu.Lock()
	defer captureFaults.mu.Unlock()
	count, size := captureFaults.count.Load(), uint64(len(captureFaults.last))
	n = max(n, count-min(count, size))
	var errs []*Error
	for ; n < count; n++ {
		errs = append(errs, captureFaults.last[n%size])
	}
	return errs
}
