package cudatest

import (
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

// counter is a library that counts the calls to another library. Counting does not allocate.
type counter struct {
	loader.Library
	emu       *emulator.Emulator // executes the calls; nil on a GPU
	capturing *loader.Proc       // cuStreamIsCapturing

	mu       sync.Mutex
	sum      Counts
	captures int // number of open captures
}

func newCounter(lib loader.Library, emu *emulator.Emulator) *counter {
	c := &counter{Library: lib, emu: emu}
	if p, err := lib.Lookup(cu.FnCuStreamIsCapturing.Symbol()); err == nil {
		c.capturing = &p
	}
	return c
}

// Unwrap returns the library whose calls the counter counts.
func (c *counter) Unwrap() loader.Library { return c.Library }

// Lookup returns a function that calls the wrapped function and counts the call. On the system's
// driver, functions that take large structs or floats by value are not wrapped, so their calls are
// not counted. Go functions would receive such arguments in a different form.
func (c *counter) Lookup(symbol string) (loader.Proc, error) {
	p, err := c.Library.Lookup(symbol)
	f, known := cu.FunctionBySymbol(symbol)
	if err != nil || p.IsZero() || !known || byValue[f] && !p.IsGo() {
		return p, err
	}
	r := rules[f]
	return loader.FuncProc(func(a loader.Args) uintptr {
		var n delta
		recorded := false
		if r.count != nil {
			n = r.count(a)
			recorded = r.stream != nil && c.captured(r.stream(a))
		}
		result := a.Forward(&p)
		c.add(f, n, recorded, uint32(result) == 0)
		return result
	}), nil
}

var byValue = map[cu.Function]bool{
	cu.FnCuIpcOpenMemHandle: true, cu.FnCuIpcOpenEventHandle: true,
	cu.FnCuParamSetf: true, cu.FnCuTexRefSetMipmapLevelBias: true, cu.FnCuTexRefSetMipmapLevelClamp: true,
}

func (c *counter) add(f cu.Function, n delta, recorded, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Calls++
	c.track(f, ok)
	switch {
	case !ok:
	case recorded:
		c.sum.Recorded++
	default:
		c.sum.add(n)
	}
}

// track counts open captures. Streams are queried only while a capture is open.
func (c *counter) track(f cu.Function, ok bool) {
	switch f {
	case cu.FnCuStreamBeginCapture, cu.FnCuStreamBeginCaptureToGraph:
		if ok {
			c.captures++
		}
	case cu.FnCuStreamEndCapture:
		c.captures = max(c.captures-1, 0)
	}
}

func (c *counter) captured(s driver.CUstream) bool {
	c.mu.Lock()
	open := c.captures > 0
	c.mu.Unlock()
	if !open || c.capturing == nil {
		return false
	}
	var status cu.CUstreamCaptureStatus
	a := struct {
		call   loader.Call
		stream uintptr
		status *cu.CUstreamCaptureStatus
		_      [6]uintptr
	}{call: loader.Call{Proc: c.capturing, N: 2}, stream: uintptr(s), status: &status}
	return uint32(loader.Invoke(&a.call)) == 0 && status == cu.CU_STREAM_CAPTURE_STATUS_ACTIVE
}
