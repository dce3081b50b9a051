package emulator

import (
	"log/slog"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// call is one call of a driver function: its arguments, the calling thread and the current context.
//
// It is passed by value and never kept. The arguments may be on the caller's stack, so neither they
// nor a closure that captures them may be put in a queue.
type call struct {
	loader.Args
	e   *Emulator
	th  *thread      // nil for functions without preconditions
	ctx *cudaContext // the current context, or nil
}

type function struct {
	run  func(c call) result
	need need
}

type functions map[string]function

// need is a set of preconditions of a driver function.
type need uint8

const (
	// anywhere permits calls before cuInit and from host functions.
	anywhere need = 0
	// afterInit requires that cuInit was called and that the thread is not running a host function.
	afterInit need = 1 << iota
	// inContext requires a current context that is alive and has no sticky error.
	inContext
	// uncaptured marks a "potentially unsafe call", which a capture may prohibit. See
	// cuThreadExchangeStreamCaptureMode.
	uncaptured

	current       = afterInit | inContext
	currentUnsafe = current | uncaptured
)

func allFunctions() []functions {
	return []functions{
		systemFunctions, deviceFunctions, primaryFunctions, contextFunctions,
		memoryFunctions, hostMemoryFunctions, pointerFunctions, copyFunctions, copy3DFunctions, arrayFunctions, virtualFunctions,
		fillFunctions, poolFunctions, managedFunctions, peerFunctions,
		moduleFunctions, libraryFunctions, linkFunctions, kernelFunctions, occupancyFunctions,
		streamFunctions, eventFunctions, hostFuncFunctions, memOpFunctions, launchFunctions,
		captureFunctions, graphFunctions, graphNodeFunctions, graphEdgeFunctions,
		execFunctions, conditionalFunctions, graphMemFunctions, userObjectFunctions,
		extSemFunctions, rangeFunctions, copyBatch3DFunctions, oldLaunchFunctions,
		moreDeviceFunctions, withoutFunctions, coredumpFunctions, journalFunctions, refusedFunctions,
	}
}

// bind returns the Go function that the loader calls for a symbol. That function holds the
// emulator's lock while it runs f.
func (e *Emulator) bind(symbol string, f function) loader.GoFunc {
	return func(a loader.Args) uintptr {
		e.stats.calls.Add(1)
		e.mu.Lock()
		defer e.unlock()
		r := e.invoke(f, a)
		if r != success && r != errNotReady {
			e.log(slog.LevelDebug, "call failed", "function", symbol, "result", uint32(r))
			e.journal.failed(symbol, r)
		}
		return uintptr(r)
	}
}

func (e *Emulator) invoke(f function, a loader.Args) result {
	c := call{Args: a, e: e}
	if f.need == anywhere {
		return f.run(c)
	}
	if e.closed {
		return errDeinitialized
	}
	c.th = e.thread()
	if c.th.callback {
		return errNotPermitted
	}
	if !e.initialized {
		return errNotInitialized
	}
	c.ctx = c.th.current()
	if f.need&inContext != 0 {
		if r := c.ctx.usable(); r != success {
			return r
		}
	}
	if f.need&uncaptured != 0 {
		if r := e.prohibited(c.th); r != success {
			return r
		}
	}
	return f.run(c)
}

// at returns argument i as a pointer to a T. It returns nil if the caller passed NULL.
func at[T any](c call, i int) *T { return (*T)(c.Ptr(i)) }

// put stores v at the address in argument i. It returns CUDA_ERROR_INVALID_VALUE for NULL.
func put[T any](c call, i int, v T) result {
	p := at[T](c, i)
	if p == nil {
		return errInvalidValue
	}
	*p = v
	return success
}

// putWords stores words at the addresses in arguments 0, 1, and so on. It skips NULL arguments.
func (c call) putWords(words ...uintptr) result {
	for i, w := range words {
		if p := at[uintptr](c, i); p != nil {
			*p = w
		}
	}
	return success
}

// query returns a driver function that stores a value at the address in argument out. lookup
// returns the object passed as argument i, and fact returns the value for that object.
func query[O, V any](lookup func(c call, i int) (O, result), i, out int, fact func(O) V) func(call) result {
	return func(c call) result {
		o, r := lookup(c, i)
		if r != success {
			return r
		}
		return put(c, out, fact(o))
	}
}

// list returns argument i as an array of n elements. It returns nil for NULL.
func list[T any](c call, i int, n int) []T {
	p := at[T](c, i)
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}

// text returns argument i as a string. It returns false for NULL.
func (c call) text(i int) (string, bool) {
	p := c.Ptr(i)
	if p == nil {
		return "", false
	}
	return goString(p), true
}

func goString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// cString returns a NUL-terminated copy of s that lives as long as the emulator.
func (e *Emulator) cString(s string) *byte {
	p, ok := e.texts[s]
	if !ok {
		b := append([]byte(s), 0)
		p = &b[0]
		e.texts[s] = p
	}
	return p
}

// unlocked runs f with the emulator's lock released. Use it for slow operations.
func (e *Emulator) unlocked(f func()) {
	e.unlock()
	defer e.mu.Lock()
	f()
}

// notReady yields and returns CUDA_ERROR_NOT_READY. On wasm, all goroutines share one thread and
// are never preempted. If notReady did not yield, a program that polls would keep the device from
// running.
func (e *Emulator) notReady() result {
	e.unlocked(runtime.Gosched)
	return errNotReady
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

type result = cu.CUresult

const (
	success            = cu.CUDA_SUCCESS
	errInvalidValue    = cu.CUDA_ERROR_INVALID_VALUE
	errOutOfMemory     = cu.CUDA_ERROR_OUT_OF_MEMORY
	errNotInitialized  = cu.CUDA_ERROR_NOT_INITIALIZED
	errDeinitialized   = cu.CUDA_ERROR_DEINITIALIZED
	errNoDevice        = cu.CUDA_ERROR_NO_DEVICE
	errInvalidDevice   = cu.CUDA_ERROR_INVALID_DEVICE
	errInvalidImage    = cu.CUDA_ERROR_INVALID_IMAGE
	errInvalidSource   = cu.CUDA_ERROR_INVALID_SOURCE
	errInvalidContext  = cu.CUDA_ERROR_INVALID_CONTEXT
	errInvalidHandle   = cu.CUDA_ERROR_INVALID_HANDLE
	errIllegalState    = cu.CUDA_ERROR_ILLEGAL_STATE
	errNotFound        = cu.CUDA_ERROR_NOT_FOUND
	errNotReady        = cu.CUDA_ERROR_NOT_READY
	errDestroyed       = cu.CUDA_ERROR_CONTEXT_IS_DESTROYED
	errNotPermitted    = cu.CUDA_ERROR_NOT_PERMITTED
	errNotSupported    = cu.CUDA_ERROR_NOT_SUPPORTED
	errUnsupported     = cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	errInvalidated     = cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	errMerge           = cu.CUDA_ERROR_STREAM_CAPTURE_MERGE
	errUnmatched       = cu.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
	errUnjoined        = cu.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
	errIsolation       = cu.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
	errImplicit        = cu.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	errCapturedEvent   = cu.CUDA_ERROR_CAPTURED_EVENT
	errWrongThread     = cu.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	errUpdateFailure   = cu.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
	errOutOfResources  = cu.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	errLaunchFailed    = cu.CUDA_ERROR_LAUNCH_FAILED
	errUnsupportedLim  = cu.CUDA_ERROR_UNSUPPORTED_LIMIT
	errLossyQuery      = cu.CUDA_ERROR_LOSSY_QUERY
	errPeerUnsupported = cu.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
)
