package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

type unsafeCall struct {
	name   string
	call   func() error
	breaks bool
}

// unsafeCalls returns potentially unsafe calls and creates the objects that they need. Each call
// may be repeated, both during and after a capture in another stream.
func (r *rig) unsafeCalls() []unsafeCall {
	idle := r.stream()
	ev := r.event(cu.CU_EVENT_DISABLE_TIMING)
	p := r.alloc(64)
	pinned := r.gate()
	image := append([]byte(testPTX), 0)
	g := r.graph()
	var n cu.CUgraphNode
	r.ok(r.CuGraphAddEmptyNode(&n, g, nil, 0))
	x := r.instantiate(g)
	host := make([]uint32, 4)
	hostPtr := unsafe.Pointer(&host[0])
	// relax runs f in relaxed mode, so f may create and release objects while a stream is
	// capturing.
	relax := func(f func() error) error {
		mode := relaxed
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		err := f()
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		return err
	}
	try := func(make, use, undo func() error) func() error {
		return func() error {
			if make != nil {
				r.ok(relax(make))
			}
			err := use()
			if undo != nil && err != nil {
				r.ok(relax(undo))
			}
			return err
		}
	}
	made := func(use, undo func() error) func() error {
		return func() error {
			err := use()
			if err == nil {
				r.ok(relax(undo))
			}
			return err
		}
	}
	var q cu.CUdeviceptr
	var hp unsafe.Pointer
	var m cu.CUmodule
	var lib cu.CUlibrary
	var st cu.CUstream
	var e2 cu.CUevent
	var g2 cu.CUgraph
	var x2 cu.CUgraphExec
	var pool cu.CUmemoryPool
	var size uintptr
	var arr cu.CUarray
	loaded := r.module(testPTX)
	add := r.function(loaded, "add")
	buf := make([]byte, 8192)
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED}
	props.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	free := func() error { return r.CuMemFree(q) }
	alloc := func() error { return r.CuMemAlloc(&q, 64) }
	return []unsafeCall{
		{"cuMemAlloc", made(alloc, free), true},
		{"cuMemFree", try(alloc, free, free), true},
		{"cuMemAllocPitch", made(func() error { return r.CuMemAllocPitch(&q, &size, 64, 4, 4) }, free), true},
		{"cuMemHostAlloc", made(func() error { return r.CuMemHostAlloc(&hp, 64, 0) }, func() error { return r.CuMemFreeHost(hp) }), true},
		{"cuMemFreeHost", try(func() error { return r.CuMemHostAlloc(&hp, 64, 0) }, func() error { return r.CuMemFreeHost(hp) }, func() error { return r.CuMemFreeHost(hp) }), true},
		{"cuMemHostRegister", made(func() error { return r.CuMemHostRegister(unsafe.Pointer(&buf[0]), 8192, 0) }, func() error { return r.CuMemHostUnregister(unsafe.Pointer(&buf[0])) }), true},
		{"cuMemAllocAsync", made(func() error { return r.CuMemAllocAsync(&q, 64, idle) }, func() error { return r.CuMemFreeAsync(q, idle) }), true},
		{"cuMemFreeAsync", try(func() error { return r.CuMemAllocAsync(&q, 64, idle) }, func() error { return r.CuMemFreeAsync(q, idle) }, func() error { return r.CuMemFreeAsync(q, idle) }), true},
		{"cuMemPoolCreate", made(func() error { return r.CuMemPoolCreate(&pool, &props) }, func() error { return r.CuMemPoolDestroy(pool) }), true},
		{"cuMemPoolTrimTo", func() error {
			r.ok(relax(func() error { return r.CuDeviceGetDefaultMemPool(&pool, r.dev) }))
			return r.CuMemPoolTrimTo(pool, 0)
		}, true},
		{"cuMemGetInfo", func() error { var a, b uintptr; return r.CuMemGetInfo(&a, &b) }, false},
		{"cuMemcpyHtoD", func() error { return r.CuMemcpyHtoD(p, hostPtr, 16) }, false},
		{"cuMemcpyDtoH", func() error { return r.CuMemcpyDtoH(hostPtr, p, 16) }, false},
		{"cuMemcpyDtoD", func() error { return r.CuMemcpyDtoD(p, p+32, 16) }, false},
		{"cuMemsetD8", func() error { return r.CuMemsetD8(p, 0, 16) }, false},
		{"cuMemcpyHtoDAsync of an idle stream", func() error { return r.CuMemcpyHtoDAsync(p, hostPtr, 16, idle) }, false},
		{"cuMemcpyDtoHAsync of an idle stream", func() error { return r.CuMemcpyDtoHAsync(hostPtr, p, 16, idle) }, false},
		{"cuMemsetD8Async of an idle stream", func() error { return r.CuMemsetD8Async(p, 0, 16, idle) }, false},
		{"cuMemcpyHtoDAsync of the legacy stream", func() error { return r.CuMemcpyHtoDAsync(p, hostPtr, 16, 0) }, false},
		{"cuCtxSynchronize", func() error { return r.CuCtxSynchronize() }, true},
		{"cuStreamSynchronize", func() error { return r.CuStreamSynchronize(idle) }, true},
		{"cuStreamQuery", func() error { return r.CuStreamQuery(idle) }, true},
		{"cuStreamCreate", made(func() error { return r.CuStreamCreate(&st, 1) }, func() error { return r.CuStreamDestroy(st) }), false},
		{"cuStreamDestroy", try(func() error { return r.CuStreamCreate(&st, 1) }, func() error { return r.CuStreamDestroy(st) }, nil), false},
		{"cuEventCreate", made(func() error { return r.CuEventCreate(&e2, 0) }, func() error { return r.CuEventDestroy(e2) }), false},
		{"cuEventDestroy", try(func() error { return r.CuEventCreate(&e2, 0) }, func() error { return r.CuEventDestroy(e2) }, nil), false},
		{"cuEventRecord", func() error { return r.CuEventRecord(ev, idle) }, false},
		{"cuEventQuery", func() error { return r.CuEventQuery(ev) }, true},
		{"cuEventSynchronize", func() error { return r.CuEventSynchronize(ev) }, true},
		{"cuStreamWaitEvent", func() error { return r.CuStreamWaitEvent(idle, ev, 0) }, false},
		{"cuStreamWriteValue32", func() error { return r.CuStreamWriteValue32(idle, pinned.p, 0, 0) }, false},
		{"cuModuleLoadData", made(func() error { return r.CuModuleLoadData(&m, unsafe.Pointer(&image[0])) }, func() error { return r.CuModuleUnload(m) }), false},
		{"cuModuleUnload", try(func() error { return r.CuModuleLoadData(&m, unsafe.Pointer(&image[0])) }, func() error { return r.CuModuleUnload(m) }, func() error { return r.CuModuleUnload(m) }), true},
		{"cuLibraryLoadData", made(func() error { return r.CuLibraryLoadData(&lib, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0) }, func() error { return r.CuLibraryUnload(lib) }), false},
		{"cuLibraryUnload", try(func() error { return r.CuLibraryLoadData(&lib, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0) }, func() error { return r.CuLibraryUnload(lib) }, func() error { return r.CuLibraryUnload(lib) }), true},
		{"cuGraphCreate", made(func() error { return r.CuGraphCreate(&g2, 0) }, func() error { return r.CuGraphDestroy(g2) }), false},
		{"cuGraphInstantiate", made(func() error { return r.CuGraphInstantiate(&x2, g, 0) }, func() error { return r.CuGraphExecDestroy(x2) }), true},
		{"cuGraphExecDestroy", try(func() error { return r.CuGraphInstantiate(&x2, g, 0) }, func() error { return r.CuGraphExecDestroy(x2) }, func() error { return r.CuGraphExecDestroy(x2) }), true},
		{"cuGraphLaunch of an idle stream", func() error { return r.CuGraphLaunch(x, idle) }, false},
		{"cuGraphUpload of an idle stream", func() error { return r.CuGraphUpload(x, idle) }, false},
		{"cuGraphExecUpdate", func() error { var info cu.CUgraphExecUpdateResultInfo; return r.CuGraphExecUpdate(x, g, &info) }, false},
		{"cuCtxSetLimit", func() error { var v uintptr; r.ok(r.CuCtxGetLimit(&v, 0)); return r.CuCtxSetLimit(0, v) }, true},
		{"cuMemPoolDestroy", try(func() error { return r.CuMemPoolCreate(&pool, &props) }, func() error { return r.CuMemPoolDestroy(pool) }, func() error { return r.CuMemPoolDestroy(pool) }), true},
		{"cuMemPoolGetAttribute", func() error {
			var used uint64
			r.ok(relax(func() error { return r.CuDeviceGetDefaultMemPool(&pool, r.dev) }))
			return r.CuMemPoolGetAttribute(pool, cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&used))
		}, true},
		{"cuMemHostUnregister", try(func() error { return r.CuMemHostRegister(unsafe.Pointer(&buf[0]), 8192, 0) }, func() error { return r.CuMemHostUnregister(unsafe.Pointer(&buf[0])) }, func() error { return r.CuMemHostUnregister(unsafe.Pointer(&buf[0])) }), true},
		{"cuArrayCreate", made(func() error {
			return r.CuArrayCreate(&arr, &cu.CUDA_ARRAY_DESCRIPTOR{Width: 4, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1})
		}, func() error { return r.CuArrayDestroy(arr) }), true},
		{"cuCtxSetCacheConfig", func() error { return r.CuCtxSetCacheConfig(0) }, true},
		{"cuCtxGetLimit", func() error { return r.CuCtxGetLimit(&size, 0) }, false},
		{"cuModuleGetGlobal", func() error { return r.CuModuleGetGlobal(&q, &size, loaded, cstr("counter")) }, false},
		{"cuFuncSetAttribute", func() error {
			return r.CuFuncSetAttribute(add, cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 10)
		}, false},
		{"cuFuncLoad", func() error { return r.CuFuncLoad(add) }, false},
		{"cuLaunchKernel of an idle stream", func() error { return r.launch(add, idle, p, 0, 1) }, false},
		{"cuLaunchKernel of the legacy stream", func() error { return r.launch(add, 0, p, 0, 1) }, false},
		{"cuMemGetAddressRange", func() error { return r.CuMemGetAddressRange(&q, &size, p) }, false},
		{"cuGraphClone", made(func() error { return r.CuGraphClone(&g2, g) }, func() error { return r.CuGraphDestroy(g2) }), false},
		{"cuDeviceGraphMemTrim", func() error { return r.CuDeviceGraphMemTrim(r.dev) }, false},
	}
}

func TestUnsafeCallsBreakAGlobalCaptureOfAnotherThread(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	for _, c := range r.unsafeCalls() {
		r.settle()
		r.ok(r.CuStreamBeginCapture(s, global))
		var got cu.CUresult
		r.elsewhere(func() { got = code(c.call()) })
		end := code(r.endCapture(s))
		want, wantEnd := cu.CUDA_SUCCESS, cu.CUDA_SUCCESS
		if c.breaks {
			want, wantEnd = unsupported, invalidated
		}
		if got != want || end != wantEnd {
			t.Errorf("%s: %d, end %d; want %d and %d", c.name, got, end, want, wantEnd)
		}
	}
}

func TestUnsafeCallsBreakACaptureOfTheirThread(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	for _, mode := range []cu.CUstreamCaptureMode{global, threadLocal} {
		for _, c := range r.unsafeCalls() {
			r.settle()
			r.ok(r.CuStreamBeginCapture(s, mode))
			got := code(c.call())
			end := code(r.endCapture(s))
			want, wantEnd := cu.CUDA_SUCCESS, cu.CUDA_SUCCESS
			if c.breaks {
				want, wantEnd = unsupported, invalidated
			}
			if got != want || end != wantEnd {
				t.Errorf("%v: %s: %d, end %d; want %d and %d", mode, c.name, got, end, want, wantEnd)
			}
		}
	}
}

// Unsafe calls must be allowed on other threads during a thread-local capture, during a relaxed
// capture, and on a thread in relaxed mode.
func TestUnsafeCallsThatAreAllowed(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	allowed := func(what string, mode cu.CUstreamCaptureMode, run func(call func() error) cu.CUresult) {
		for _, c := range r.unsafeCalls() {
			if c.name == "cuCtxSynchronize" {
				continue // this call would wait for the captured stream
			}
			r.settle()
			r.ok(r.CuStreamBeginCapture(s, mode))
			got := run(c.call)
			end := code(r.endCapture(s))
			if got != 0 || end != 0 {
				t.Errorf("%s: %s: %d, end %d", what, c.name, got, end)
			}
		}
	}
	elsewhere := func(call func() error) (got cu.CUresult) {
		r.elsewhere(func() { got = code(call()) })
		return got
	}
	relaxedThread := func(call func() error) cu.CUresult {
		mode := relaxed
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		got := code(call())
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		return got
	}
	allowed("thread-local capture of another thread", threadLocal, elsewhere)
	allowed("relaxed capture", relaxed, func(call func() error) cu.CUresult { return code(call()) })
	allowed("relaxed thread in its global capture", global, relaxedThread)
	allowed("relaxed thread beside a global capture", global, func(call func() error) (got cu.CUresult) {
		r.elsewhere(func() { got = relaxedThread(call) })
		return got
	})
}

func TestContextSynchronizeBreaksAnyCapture(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	r.ok(r.CuStreamBeginCapture(s, relaxed))
	r.want("synchronize", r.CuCtxSynchronize(), unsupported)
	r.want("end", r.endCapture(s), invalidated)
}
