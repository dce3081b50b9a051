package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

func (r *rig) say(what string, err error) { r.t.Logf("PROBE %s = %d", what, code(err)) }

func TestProbeFault(t *testing.T) {
	r := newRig(t)
	r.faulted = true
	s, s2 := r.stream(), r.stream()
	p, ev, ev2 := r.alloc(4), r.event(0), r.event(0)
	m := r.module(testPTX)
	broken := r.function(m, "broken")
	g := r.graph()
	r.addKernel(g, broken, p, 0, 0)
	x := r.instantiate(g)
	var host unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&host, 64, 0))
	r.ok(r.CuGraphLaunch(x, s))
	r.say("sync", r.CuStreamSynchronize(s))
	r.say("query other", r.CuStreamQuery(s2))
	r.say("event query", r.CuEventQuery(ev))
	r.say("event destroy", r.CuEventDestroy(ev2))
	var s3 driver.CUstream
	r.say("stream create", r.CuStreamCreate(&s3, 1))
	var e3 driver.CUevent
	r.say("event create", r.CuEventCreate(&e3, 0))
	r.say("free", r.CuMemFree(p))
	r.say("free again", r.CuMemFree(p))
	r.say("free host", r.CuMemFreeHost(host))
	var f driver.CUfunction
	r.say("get function", r.CuModuleGetFunction(&f, m, cstr("add")))
	var v int32
	r.say("func attr", r.CuFuncGetAttribute(&v, 0, broken))
	r.say("unload", r.CuModuleUnload(m))
	r.say("graph launch", r.CuGraphLaunch(x, s))
	r.say("graph create", r.CuGraphCreate(&g, 0))
	r.say("add empty", r.CuGraphAddEmptyNode(new(driver.CUgraphNode), g, nil, 0))
	r.say("instantiate", r.CuGraphInstantiate(new(driver.CUgraphExec), g, 0))
	r.say("exec destroy", r.CuGraphExecDestroy(x))
	r.say("begin capture", r.CuStreamBeginCapture(s2, 0))
	r.say("stream destroy", r.CuStreamDestroy(s))
	r.say("get current", r.CuCtxGetCurrent(&r.ctx))
	r.say("ctx device", r.CuCtxGetDevice(&r.dev))
	r.say("ctx flags", r.CuCtxGetFlags(new(uint32)))
	r.say("set current", r.CuCtxSetCurrent(r.ctx))
	r.say("pool", r.CuMemAllocAsync(&p, 4, s2))
	r.say("priority range", r.CuCtxGetStreamPriorityRange(&v, &v))
	r.say("pointer attr", r.CuPointerGetAttribute(unsafe.Pointer(&v), driver.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p))
	r.say("dev attr", r.CuDeviceGetAttribute(&v, 1, 0))
	r.say("mode", r.CuThreadExchangeStreamCaptureMode(new(driver.CUstreamCaptureMode)))
	r.say("host register", r.CuMemHostRegister(host, 64, 0))
	r.say("load", func() error { b := append([]byte(testPTX), 0); return r.CuModuleLoadData(new(driver.CUmodule), unsafe.Pointer(&b[0])) }())
	r.say("release", r.CuDevicePrimaryCtxRelease(r.dev))
	r.say("after release: sync", r.CuCtxSynchronize())
	r.say("after release: retain", r.CuDevicePrimaryCtxRetain(&r.ctx, r.dev))
	r.say("after retain: sync", r.CuCtxSynchronize())
}

func TestProbeFaultInCreatedContext(t *testing.T) {
	r := newRig(t)
	var ctx driver.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	b := append([]byte(testPTX), 0)
	var m driver.CUmodule
	r.ok(r.CuModuleLoadData(&m, unsafe.Pointer(&b[0])))
	r.ok(r.launch(r.function(m, "broken"), 0, 0, 0, 0))
	r.say("sync", r.CuCtxSynchronize())
	r.ok(r.CuCtxPopCurrent(&ctx))
	r.ok(r.CuCtxSetCurrent(r.ctx))
	r.say("other context", r.CuCtxSynchronize())
	r.say("destroy", r.CuCtxDestroy(ctx))
	r.faulted = true
}

func TestProbeMemory(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var p driver.CUdeviceptr
	var host unsafe.Pointer
	var n uintptr
	r.say("host alloc 0", r.CuMemHostAlloc(&host, 0, 0))
	r.say("alloc pitch 0", r.CuMemAllocPitch(&p, &n, 0, 4, 4))
	r.say("alloc async 0", r.CuMemAllocAsync(&p, 0, s))
	r.say("free async 0", r.CuMemFreeAsync(0, s))
	r.say("free async wild", r.CuMemFreeAsync(12345, s))
	q := r.alloc(64)
	r.say("free async of cuMemAlloc", func() error {
		var x driver.CUdeviceptr
		r.ok(r.CuMemAlloc(&x, 64))
		err := r.CuMemFreeAsync(x, s)
		if err != nil {
			r.ok(r.CuMemFree(x))
		}
		return err
	}())
	r.say("range of unknown", r.CuMemGetAddressRange(&p, &n, 12345))
	r.say("copy past end", r.CuMemcpyDtoD(q, q+32, 1<<30))
	r.say("memset past end", r.CuMemsetD8(q, 0, 1<<30))
	r.say("memset async past end", r.CuMemsetD8Async(q, 0, 1<<30, s))
	r.say("memset null", r.CuMemsetD8(0, 0, 4))
	r.say("copy null dst", r.CuMemcpyDtoD(0, q, 4))
	r.say("copy async null", r.CuMemcpyDtoDAsync(0, q, 4, s))
	r.say("sync", r.CuStreamSynchronize(s))
	buf := make([]byte, 4096)
	r.say("unified from pageable", r.CuMemcpy(q, driver.CUdeviceptr(uintptr(unsafe.Pointer(&buf[0]))), 16))
	var d driver.CUdeviceptr
	r.say("device pointer of pageable", r.CuMemHostGetDevicePointer(&d, unsafe.Pointer(&buf[0]), 0))
	r.say("host flags of pageable", r.CuMemHostGetFlags(new(uint32), unsafe.Pointer(&buf[0])))
	r.ok(r.CuMemHostAlloc(&host, 64, 0))
	var fl uint32
	r.say("host flags", r.CuMemHostGetFlags(&fl, host))
	t.Logf("PROBE flags %d", fl)
	r.say("range of host", r.CuMemGetAddressRange(&p, &n, driver.CUdeviceptr(uintptr(host))))
	r.say("free host inner", r.CuMemFreeHost(unsafe.Add(host, 8)))
	r.say("unregister of alloc", r.CuMemHostUnregister(host))
	r.say("register of alloc", r.CuMemHostRegister(host, 64, 0))
	r.say("free host", r.CuMemFreeHost(host))
	r.say("free host twice", r.CuMemFreeHost(host))
	r.say("mempool props 0", r.CuMemPoolCreate(new(driver.CUmemoryPool), &driver.CUmemPoolProps{}))
	r.say("limit malloc", r.CuCtxSetLimit(driver.CU_LIMIT_MALLOC_HEAP_SIZE, 16<<20))
	r.say("limit sync depth", r.CuCtxSetLimit(driver.CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3))
	r.say("limit stack too large", r.CuCtxSetLimit(driver.CU_LIMIT_STACK_SIZE, 1<<30))
	for i := driver.CUlimit(0); i < 12; i++ {
		err := r.CuCtxGetLimit(&n, i)
		t.Logf("PROBE limit %d = %d, %d", i, n, code(err))
	}
	r.say("push 0", r.CuCtxPushCurrent(0))
	r.say("bad device primary", r.CuDevicePrimaryCtxRetain(&r.ctx, 9))
}

func TestProbeCapture(t *testing.T) {
	r := newRig(t)
	s, o := r.stream(), r.stream()
	p, ev := r.alloc(4096), r.event(0)
	add := r.kernel("add")
	buf := make([]byte, 4096)
	hp := unsafe.Pointer(&buf[0])
	g0 := r.graph()
	r.addKernel(g0, add, p, 0, 1)
	x := r.instantiate(g0)
	do := func(what string, mode driver.CUstreamCaptureMode, f func() error) {
		r.ok(r.CuStreamBeginCapture(s, mode))
		err := f()
		var st driver.CUstreamCaptureStatus
		_ = r.CuStreamIsCapturing(s, &st)
		var g driver.CUgraph
		end := r.CuStreamEndCapture(s, &g)
		t.Logf("PROBE %s (mode %d) = %d, status %d, end %d, graph %v", what, mode, code(err), st, code(end), g != 0)
		if g != 0 {
			r.CuGraphDestroy(g)
		}
	}
	for mode := range driver.CUstreamCaptureMode(3) {
		do("pageable HtoD", mode, func() error { return r.CuMemcpyHtoDAsync(p, hp, 64, s) })
		do("pageable DtoH", mode, func() error { return r.CuMemcpyDtoHAsync(hp, p, 64, s) })
		do("upload to capturing", mode, func() error { return r.CuGraphUpload(x, s) })
		do("graph launch", mode, func() error { return r.CuGraphLaunch(x, s) })
		do("zero memset", mode, func() error { return r.CuMemsetD8Async(p, 0, 0, s) })
		do("bad memset", mode, func() error { return r.CuMemsetD8Async(1, 0, 8, s) })
		do("bad launch", mode, func() error { return r.CuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, s, args(p, 0, 0), nil) })
		do("begin twice", mode, func() error { return r.CuStreamBeginCapture(s, 0) })
		do("begin on other", mode, func() error {
			if err := r.CuStreamBeginCapture(o, 0); err != nil {
				return err
			}
			return r.endCapture(o)
		})
		do("free async of uncaptured", mode, func() error {
			mode := relaxed
			var q driver.CUdeviceptr
			r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
			r.ok(r.CuMemAllocAsync(&q, 64, o))
			r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
			err := r.CuMemFreeAsync(q, s)
			mode = relaxed
			r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
			r.CuMemFreeAsync(q, o)
			r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
			return err
		})
		do("elapsed of captured", mode, func() error {
			r.ok(r.CuEventRecord(ev, s))
			var ms float32
			return r.CuEventElapsedTime(&ms, ev, ev)
		})
		do("query after fork on legacy", mode, func() error { return r.CuStreamQuery(0) })
		do("sync legacy", mode, func() error { return r.CuStreamSynchronize(0) })
		do("query per thread", mode, func() error { return r.CuStreamQuery(2) })
		do("external wait", mode, func() error { return r.CuStreamWaitEvent(s, ev, 1) })
		do("destroy graph under capture", mode, func() error {
			var st driver.CUstreamCaptureStatus
			var g driver.CUgraph
			r.ok(r.CuStreamGetCaptureInfo(s, &st, nil, &g, nil, nil, nil))
			return nil
		})
		do("attribute", mode, func() error { var v driver.CUlaunchAttributeValue; return r.CuStreamSetAttribute(s, driver.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v) })
		do("end with null", mode, func() error { return r.CuStreamEndCapture(s, nil) })
		do("ctx record", mode, func() error { return r.CuCtxRecordEvent(r.ctx, ev) })
		do("alloc async in capture without free", mode, func() error { var q driver.CUdeviceptr; return r.CuMemAllocAsync(&q, 64, s) })
	}
	r.say("exchange bad mode", func() error { m := driver.CUstreamCaptureMode(5); return r.CuThreadExchangeStreamCaptureMode(&m) }())
	var d driver.CUstream
	r.ok(r.CuStreamCreate(&d, 1))
	r.ok(r.CuStreamBeginCapture(d, 0))
	r.say("destroy capturing stream", r.CuStreamDestroy(d))
	r.say("alloc afterwards", func() error {
		var q driver.CUdeviceptr
		err := r.CuMemAlloc(&q, 4)
		if err == nil {
			return r.CuMemFree(q)
		}
		return err
	}())
}

func TestProbeInvalidCaptureStillForbids(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	r.ok(r.CuStreamBeginCapture(s, 0))
	var q driver.CUdeviceptr
	r.say("first alloc", r.CuMemAlloc(&q, 4))
	r.say("second alloc", r.CuMemAlloc(&q, 4))
	r.say("sync s", r.CuStreamSynchronize(s))
	r.say("begin again", r.CuStreamBeginCapture(s, 0))
	r.say("end", r.endCapture(s))
	r.say("end again", r.endCapture(s))
}

func TestProbeGraph(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(4096), r.stream()
	add := r.kernel("add")
	g := r.graph()
	n := r.addKernel(g, add, p, 0, 1)
	var e driver.CUgraphNode
	r.say("memset zero width", func() error {
		set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 0, Height: 1}
		return r.CuGraphAddMemsetNode(new(driver.CUgraphNode), g, nil, 0, &set, r.ctx)
	}())
	r.say("memset bad element", func() error {
		set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 3, Width: 1, Height: 1}
		return r.CuGraphAddMemsetNode(new(driver.CUgraphNode), g, nil, 0, &set, r.ctx)
	}())
	r.say("memset null ctx", func() error {
		set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 1, Height: 1}
		return r.CuGraphAddMemsetNode(&e, g, nil, 0, &set, 0)
	}())
	r.say("memset bad pointer", func() error {
		set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: 64, ElementSize: 4, Width: 1, Height: 1}
		return r.CuGraphAddMemsetNode(new(driver.CUgraphNode), g, nil, 0, &set, r.ctx)
	}())
	r.say("copy zero", func() error {
		c := driver.CUDA_MEMCPY3D{SrcMemoryType: 2, SrcDevice: p, DstMemoryType: 2, DstDevice: p + 64, Height: 1, Depth: 1}
		return r.CuGraphAddMemcpyNode(new(driver.CUgraphNode), g, nil, 0, &c, r.ctx)
	}())
	r.say("copy bad pointer", func() error {
		c := driver.CUDA_MEMCPY3D{SrcMemoryType: 2, SrcDevice: 64, DstMemoryType: 2, DstDevice: p + 64, WidthInBytes: 4, Height: 1, Depth: 1}
		return r.CuGraphAddMemcpyNode(new(driver.CUgraphNode), g, nil, 0, &c, r.ctx)
	}())
	r.say("host null fn", r.CuGraphAddHostNode(new(driver.CUgraphNode), g, nil, 0, &driver.CUDA_HOST_NODE_PARAMS{}))
	r.say("event null", r.CuGraphAddEventRecordNode(new(driver.CUgraphNode), g, nil, 0, 0))
	r.say("child null", r.CuGraphAddChildGraphNode(new(driver.CUgraphNode), g, nil, 0, 0))
	r.say("kernel big block", func() error {
		k := kernelNode(add, p, 0, 1)
		k.BlockDimX = 2000
		return r.CuGraphAddKernelNode(new(driver.CUgraphNode), g, nil, 0, k)
	}())
	r.say("kernel null params", func() error {
		k := kernelNode(add, p, 0, 1)
		k.KernelParams = nil
		return r.CuGraphAddKernelNode(new(driver.CUgraphNode), g, nil, 0, k)
	}())
	r.say("ext sem", func() error {
		return r.CuGraphAddNode(new(driver.CUgraphNode), g, nil, nil, 0, &driver.CUgraphNodeParams{Type: driver.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
	}())
	x := r.instantiate(g)
	var x2 driver.CUgraphExec
	r.say("device launch flag", r.CuGraphInstantiate(&x2, g, 4))
	if x2 != 0 {
		r.CuGraphExecDestroy(x2)
	}
	r.say("bad flags", r.CuGraphInstantiate(&x2, g, 256))
	r.say("auto free + device", r.CuGraphInstantiate(&x2, g, 5))
	var flags uint64
	r.ok(r.CuGraphInstantiate(&x2, g, 8))
	r.say("flags", r.CuGraphExecGetFlags(x2, &flags))
	t.Logf("PROBE flags %d", flags)
	r.ok(r.CuGraphExecDestroy(x2))
	var info driver.CUgraphExecUpdateResultInfo
	r.say("update self", r.CuGraphExecUpdate(x, g, &info))
	// reordered nodes, same topology
	h := r.graph()
	var he driver.CUgraphNode
	set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 1, Height: 1}
	r.ok(r.CuGraphAddMemsetNode(&he, h, nil, 0, &set, r.ctx))
	r.addKernel(h, add, p, 0, 1)
	r.say("update reordered", r.CuGraphExecUpdate(x, h, &info))
	t.Logf("PROBE result %v node %v", info.Result, info.ErrorNode == he)
	r.say("set params of disabled", func() error {
		r.ok(r.CuGraphNodeSetEnabled(x, n, 0))
		return r.CuGraphExecKernelNodeSetParams(x, n, kernelNode(add, p, 0, 3))
	}())
	var on uint32
	r.ok(r.CuGraphNodeGetEnabled(x, n, &on))
	t.Logf("PROBE enabled after set %d", on)
	r.say("destroy node then set", func() error {
		k := r.addKernel(g, add, p, 0, 1)
		x3 := r.instantiate(g)
		r.ok(r.CuGraphDestroyNode(k))
		return r.CuGraphLaunch(x3, s)
	}())
	r.say("empty graph", func() error {
		eg := r.graph()
		ex := r.instantiate(eg)
		return r.CuGraphLaunch(ex, s)
	}())
	r.say("sync", r.CuStreamSynchronize(s))
	r.say("graph create flags", r.CuGraphCreate(&h, 1))
	r.say("debug print to nowhere", r.CuGraphDebugDotPrint(g, cstr("/nonexistent/x"), 0))
	r.elsewhere(func() {
		r.ok(r.CuCtxSetCurrent(0))
		g := r.graph()
		r.say("no ctx: empty node", r.CuGraphAddEmptyNode(new(driver.CUgraphNode), g, nil, 0))
		r.say("no ctx: kernel node", r.CuGraphAddKernelNode(new(driver.CUgraphNode), g, nil, 0, kernelNode(add, p, 0, 1)))
		var x driver.CUgraphExec
		r.say("no ctx: instantiate", r.CuGraphInstantiate(&x, g, 0))
		if x != 0 {
			r.say("no ctx: launch", r.CuGraphLaunch(x, s))
			r.say("no ctx: exec destroy", r.CuGraphExecDestroy(x))
		}
		r.say("no ctx: stream sync", r.CuStreamSynchronize(s))
		r.say("no ctx: begin", r.CuStreamBeginCapture(s, 2))
		r.say("no ctx: end", r.endCapture(s))
		r.say("no ctx: malloc async", r.CuMemAllocAsync(new(driver.CUdeviceptr), 64, s))
		var pool driver.CUmemoryPool
		r.say("no ctx: pool", r.CuDeviceGetDefaultMemPool(&pool, 0))
		r.say("no ctx: func attr", r.CuFuncGetAttribute(new(int32), 0, add))
		r.say("no ctx: pointer attr", r.CuPointerGetAttribute(unsafe.Pointer(new(int32)), driver.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p))
		r.say("no ctx: host func", r.CuMemcpyHtoDAsync(p, unsafe.Pointer(new(int32)), 4, s))
		r.say("no ctx: stream priority", r.CuStreamGetPriority(s, new(int32)))
	})
}

func TestProbeContexts(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	ev := r.event(0)
	var ctx driver.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	s2 := driver.CUstream(0)
	r.ok(r.CuStreamCreate(&s2, 1))
	r.say("function of another context", r.launch(add, s2, p, 0, 1))
	r.say("function of another context, legacy", r.launch(add, 0, p, 0, 1))
	r.say("stream of another context", r.CuMemsetD8Async(p, 0, 4, s))
	r.say("event of another context", r.CuEventRecord(ev, s2))
	r.say("wait for event of another context", r.CuStreamWaitEvent(s2, ev, 0))
	r.say("free of another context", r.CuMemFree(p))
	r.say("set flags", r.CuCtxSetFlags(4))
	r.say("primary create", r.CuDevicePrimaryCtxSetFlags(r.dev, 0x1000))
	r.say("destroy primary", r.CuCtxDestroy(r.ctx))
	r.say("destroy", r.CuCtxDestroy(ctx))
	r.say("destroy again", func() error {
		if onGPU {
			return nil
		}
		return r.CuCtxDestroy(ctx)
	}())
	r.ok(r.CuCtxSetCurrent(r.ctx))
	r.say("retain flags", r.CuDevicePrimaryCtxSetFlags(r.dev, 4))
	r.faulted = true
}
