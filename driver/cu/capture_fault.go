package cu

import (
	"sync"
	"sync/atomic"
)

// A call that a stream capture forbids fails at once, but the capture learns of
// it only when it ends, and then the driver does not say whose fault it was. So
// the latest such calls are remembered. They are failures: the price is paid by
// nobody else.
var captureFaults struct {
	open  atomic.Int32 // captures that are watched
	count atomic.Uint64
	mu    sync.Mutex
	last  [8]*Error
}

// noteCaptureFault remembers a failure that can invalidate a capture: while one
// is open every failure can, because work that is refused could have been meant
// for it.
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

// ofCapture reports whether a code says that a capture does not allow a call.
func ofCapture(r CUresult) bool {
	switch r {
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_MERGE,
		CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
		CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_CAPTURED_EVENT:
		return true
	}
	return false
}

// WatchCapture has every failing call remembered until done is called, not only
// those whose code speaks of a capture.
func WatchCapture() (done func()) {
	captureFaults.open.Add(1)
	return func() { captureFaults.open.Add(-1) }
}

// CaptureFaults counts the calls of this process, by any goroutine, that failed
// because of a stream capture (codes 900, 902 and 904 to 907), or for whatever
// reason while WatchCapture was on.
func CaptureFaults() uint64 { return captureFaults.count.Load() }

// CaptureFaultsSince returns the calls that were counted since CaptureFaults was
// n, the first one first. Only the latest few are kept.
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
