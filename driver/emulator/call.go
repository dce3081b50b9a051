package emulator

import (
	"log/slog"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// call is one call of a driver function: its arguments and who makes it.
//
// It is passed by value and never kept: the arguments may lie on the stack of
// the caller, so neither they nor a closure over them may reach a queue.
type call struct {
	loader.Args
	e   *Emulator
	th  *thread      // nil for functions that need nothing
	ctx *cudaContext // the current one, nil if there is none
}

// function is a driver function and what must hold before it may run.
type function struct {
	run  func(c call) result
	need need
}

// functions is a part of the table, by symbol.
type functions map[string]function

// need is a set of conditions.
type need uint8

const (
	// anywhere: may be called before cuInit and by a host function.
	anywhere need = 0
	// afterInit: cuInit was called, and the thread is not a host function's.
	afterInit need = 1 << iota
	// inContext: a context is current, alive and without a sticky error.
	inContext
	// uncaptured: a "potentially unsafe call", which a capture prohibits (see
	// cuThreadExchangeStreamCaptureMode).
	uncaptured

	current       = afterInit | inContext
	currentUnsafe = current | uncaptured
)

// allFunctions lists the parts of the table.
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

// bind makes a Go function of the library's table.
func (e *Emulator) bind(symbol string, f function) loader.GoFunc {
	return func(a loader.Args) uintptr {
		e.stats.calls.Add(1)
		e.mu.Lock()
		defer e.unlock()
		r := e.invoke(f, a)
		if r != success && r != errNotReady {
			e.say(slog.LevelDebug, "call failed", "function", symbol, "result", uint32(r))
			e.journal.failed(symbol, r)
		}
		return uintptr(r)
	}
}

// invoke checks what the function needs and runs it.
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

// unlocked runs f without the emulator's lock: where time passes.
func (e *Emulator) unlocked(f func()) {
	e.unlock()
	defer e.mu.Lock()
	f()
}

// notReady is the answer to a question that a program may ask again at once and
// for ever: where goroutines share one thread and none is interrupted (wasm),
// the device would not get anywhere meanwhile.
func (e *Emulator) notReady() result {
	e.unlocked(runtime.Gosched)
	return errNotReady
}
