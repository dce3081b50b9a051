package driver

import (
	"sync"
	"sync/atomic"
)

// A call that a stream capture forbids fails at once, but the capture learns of
// it only when it ends, and then the driver does not say whose fault it was. So
// the latest such calls are remembered. They are failures: the price is paid by
// nobody else.
var captureFaults struct {
	count atomic.Uint64
	mu    sync.Mutex
	last  [8]*Error
}

// noteCaptureFault remembers a failure that can invalidate a capture.
func noteCaptureFault(e *Error) {
	switch e.Result {
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_MERGE,
		CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
		CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_CAPTURED_EVENT:
	default:
		return
	}
	captureFaults.mu.Lock()
	defer captureFaults.mu.Unlock()
	n := captureFaults.count.Load()
	captureFaults.last[n%uint64(len(captureFaults.last))] = e
	captureFaults.count.Store(n + 1)
}

// CaptureFaults counts the calls of this process, by any goroutine, that failed
// because of a stream capture (codes 900, 902 and 904 to 907).
func CaptureFaults() uint64 { return captureFaults.count.Load() }

// CaptureFaultsSince returns the calls that failed because of a stream capture
// since CaptureFaults was n, the first one first. Only the latest few are kept.
// Which capture a call invalidated the driver does not say: while several are
// open it can be any.
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
