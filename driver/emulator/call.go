package emulator

import (
	"log/slog"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// call is one call of a driver function: its arguments and the calling thread and context.
//
// It is passed by value and never kept. The arguments may lie on the caller's stack, so neither
// they nor a closure over them may reach a queue.
type call struct {
	loader.Args
	e   *Emulator
	th  *thread      // nil for functions without preconditions
	ctx *cudaContext // the current context, nil if there is none
}

// function is a driver function and its preconditions.
type function struct {
	run  func(c call) result
	need need
}

// functions is one part of the function table, by symbol.
type functions map[string]function

// need is a set of preconditions.
type need uint8

const (
	// anywhere: may be called before cuInit and from a host function.
	anywhere need = 0
	// afterInit: cuInit was called, and the thread is not running a host function.
	afterInit need = 1 << iota
	// inContext: a context is current, alive and without a sticky error.
	inContext
	// uncaptured: a "potentially unsafe call", which a capture prohibits (see
	// cuThreadExchangeStreamCaptureMode).
	uncaptured

	current       = afterInit | inContext
	currentUnsafe = current | uncaptured
)

// allFunctions lists the parts of the function table.
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

// bind wraps a function of the table as a Go function for the loader.
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

// invoke checks the preconditions of f and runs it.
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

// at returns argument i as a pointer to a T, nil if the caller passed NULL.
func at[T any](c call, i int) *T { return (*T)(c.Ptr(i)) }

// put stores v where argument i points and reports whether it could.
func put[T any](c call, i int, v T) result {
	p := at[T](c, i)
	if p == nil {
		return errInvalidValue
	}
	*p = v
	return success
}

// putWords stores words where arguments 0, 1, ... point. A caller that does not need a word passes
// NULL.
func (c call) putWords(words ...uintptr) result {
	for i, w := range words {
		if p := at[uintptr](c, i); p != nil {
			*p = w
		}
	}
	return success
}

// query makes a driver function that stores a fact about the object of argument i where argument
// out points. lookup resolves the object.
func query[O, V any](lookup func(c call, i int) (O, result), i, out int, fact func(O) V) func(call) result {
	return func(c call) result {
		o, r := lookup(c, i)
		if r != success {
			return r
		}
		return put(c, out, fact(o))
	}
}

// list returns argument i as an array of n elements; nil for NULL.
func list[T any](c call, i int, n int) []T {
	p := at[T](c, i)
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice(p, n)
}

// text returns argument i as a string; false for NULL.
func (c call) text(i int) (string, bool) {
	p := c.Ptr(i)
	if p == nil {
		return "", false
	}
	return goString(p), true
}

// goString copies a NUL-terminated string.
func goString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// cString returns a NUL-terminated copy that lives as long as the emulator.
func (e *Emulator) cString(s string) *byte {
	p, ok := e.texts[s]
	if !ok {
		b := append([]byte(s), 0)
		p = &b[0]
		e.texts[s] = p
	}
	return p
}

// unlocked runs f without the emulator's lock, for anything that takes time.
func (e *Emulator) unlocked(f func()) {
	e.unlock()
	defer e.mu.Lock()
	f()
}

// notReady returns CUDA_ERROR_NOT_READY, after yielding. A program may poll in a tight loop. Where
// all goroutines share one thread and none is preempted (wasm), the device would otherwise make no
// progress.
func (e *Emulator) notReady() result {
	e.unlocked(runtime.Gosched)
	return errNotReady
}

// flag returns 1 for true, as attributes and queries do.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// result is what every driver function returns.
type result = cu.CUresult

// Short names for the codes that are used often.
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
