package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

func (r *rig) say(what string, err error) { r.t.Logf("PROBE %s = %d", what, code(err)) }

func TestProbe2Update(t *testing.T) {
	r := newRig(t)
	p, add := r.alloc(4096), r.kernel("add")
	set := driver.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 1, Height: 1}
	fill := func(g driver.CUgraph, deps ...driver.CUgraphNode) driver.CUgraphNode {
		var n driver.CUgraphNode
		r.ok(r.CuGraphAddMemsetNode(&n, g, first(deps), uintptr(len(deps)), &set, r.ctx))
		return n
	}
	k := func(g driver.CUgraph, deps ...driver.CUgraphNode) driver.CUgraphNode {
		return r.addKernel(g, add, p, 0, 1, deps...)
	}
	try := func(what string, build func(g driver.CUgraph), change func(g driver.CUgraph) []driver.CUgraphNode) {
		g, h := r.graph(), r.graph()
		build(g)
		nodes := change(h)
		x := r.instantiate(g)
		var info driver.CUgraphExecUpdateResultInfo
		err := r.CuGraphExecUpdate(x, h, &info)
		at, from := -1, -1
		for i, n := range nodes {
			if n == info.ErrorNode {
				at = i
			}
			if n == info.ErrorFromNode {
				from = i
			}
		}
		t.Logf("PROBE update %s = %d, %v, node %d (zero %v), from %d (zero %v)", what, code(err), info.Result, at, info.ErrorNode == 0, from, info.ErrorFromNode == 0)
	}
	type N = driver.CUgraphNode
	try("single: kernel->fill", func(g driver.CUgraph) { k(g) }, func(g driver.CUgraph) []N { return []N{fill(g)} })
	try("single: fill->kernel", func(g driver.CUgraph) { fill(g) }, func(g driver.CUgraph) []N { return []N{k(g)} })
	try("chain exit: kk->kf", func(g driver.CUgraph) { k(g, k(g)) }, func(g driver.CUgraph) []N { a := k(g); return []N{a, fill(g, a)} })
	try("chain root: kk->fk", func(g driver.CUgraph) { k(g, k(g)) }, func(g driver.CUgraph) []N { a := fill(g); return []N{a, k(g, a)} })
	try("two exits: kk->kf", func(g driver.CUgraph) { k(g); k(g) }, func(g driver.CUgraph) []N { return []N{k(g), fill(g)} })
	try("two exits: kk->fk", func(g driver.CUgraph) { k(g); k(g) }, func(g driver.CUgraph) []N { return []N{fill(g), k(g)} })
	try("two exits: kf->fk", func(g driver.CUgraph) { k(g); fill(g) }, func(g driver.CUgraph) []N { return []N{fill(g), k(g)} })
	try("two exits: kk->ff", func(g driver.CUgraph) { k(g); k(g) }, func(g driver.CUgraph) []N { return []N{fill(g), fill(g)} })
	try("three exits more", func(g driver.CUgraph) { k(g, k(g, k(g))) }, func(g driver.CUgraph) []N { return []N{k(g), k(g), k(g)} })
	try("two exits more of 3", func(g driver.CUgraph) { k(g, k(g, k(g))) }, func(g driver.CUgraph) []N { a := k(g); return []N{a, k(g, a), k(g, a)} })
	try("fewer exits", func(g driver.CUgraph) { k(g); k(g); k(g) }, func(g driver.CUgraph) []N { a := k(g); b := k(g, a); return []N{a, b, k(g, b)} })
	try("dep count", func(g driver.CUgraph) { a, b := k(g), k(g); k(g, a, b) }, func(g driver.CUgraph) []N { a := k(g); b := k(g, a); return []N{a, b, k(g, b)} })
	try("dep order", func(g driver.CUgraph) { a := k(g); b := fill(g); k(g, a, b) }, func(g driver.CUgraph) []N { a := k(g); b := fill(g); return []N{a, b, k(g, b, a)} })
	try("diamond changed", func(g driver.CUgraph) { a := k(g); b := k(g, a); c := k(g, a); k(g, b, c) }, func(g driver.CUgraph) []N {
		a := k(g)
		b := k(g, a)
		c := k(g, b)
		return []N{a, b, c, k(g, b, c)}
	})
	try("more nodes", func(g driver.CUgraph) { k(g) }, func(g driver.CUgraph) []N { a := k(g); return []N{a, k(g, a)} })
	try("creation order differs", func(g driver.CUgraph) { a := k(g); b := k(g); c := k(g, a); _ = c; k(g, b) }, func(g driver.CUgraph) []N { b := k(g); a := k(g); d := k(g, b); c := k(g, a); return []N{a, b, c, d} })
	coop := func(g driver.CUgraph) N {
		n := k(g)
		var v driver.CUlaunchAttributeValue
		*v.Cooperative() = 1
		r.ok(r.CuGraphKernelNodeSetAttribute(n, driver.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v))
		return n
	}
	try("cooperative", func(g driver.CUgraph) { k(g) }, func(g driver.CUgraph) []N { return []N{coop(g)} })
	fn := driver.CUhostFn(loader.NewCallback(func(uintptr) {}))
	host := func(g driver.CUgraph) N {
		var n N
		r.ok(r.CuGraphAddHostNode(&n, g, nil, 0, &driver.CUDA_HOST_NODE_PARAMS{Fn: fn}))
		return n
	}
	empty := func(g driver.CUgraph) N { var n N; r.ok(r.CuGraphAddEmptyNode(&n, g, nil, 0)); return n }
	try("host->empty", func(g driver.CUgraph) { host(g) }, func(g driver.CUgraph) []N { return []N{empty(g)} })
	copyKind := func(g driver.CUgraph, hostSrc bool) N {
		var n N
		c := driver.CUDA_MEMCPY3D{SrcMemoryType: 2, SrcDevice: p, DstMemoryType: 2, DstDevice: p + 64, WidthInBytes: 4, Height: 1, Depth: 1}
		if hostSrc {
			c.SrcMemoryType, c.SrcDevice, c.SrcHost = 1, 0, unsafe.Pointer(new([8]uint32))
		}
		r.ok(r.CuGraphAddMemcpyNode(&n, g, nil, 0, &c, r.ctx))
		return n
	}
	try("copy kind", func(g driver.CUgraph) { copyKind(g, false) }, func(g driver.CUgraph) []N { return []N{copyKind(g, true)} })
	child := func(g driver.CUgraph, n int) N {
		c := r.graph()
		for range n {
			k(c)
		}
		var m N
		r.ok(r.CuGraphAddChildGraphNode(&m, g, nil, 0, c))
		return m
	}
	try("child nodes", func(g driver.CUgraph) { child(g, 1) }, func(g driver.CUgraph) []N { return []N{child(g, 2)} })
}

func TestProbe2Capture(t *testing.T) {
	r := newRig(t)
	s, o := r.stream(), r.stream()
	p, ev, ev2 := r.alloc(4096), r.event(0), r.event(0)
	r.ok(r.CuEventRecord(ev, o))
	r.ok(r.CuEventRecord(ev2, o))
	m := r.module(testPTX)
	add := r.function(m, "add")
	var pool driver.CUmemoryPool
	r.ok(r.CuDeviceGetDefaultMemPool(&pool, r.dev))
	props := driver.CUmemPoolProps{AllocType: driver.CU_MEM_ALLOCATION_TYPE_PINNED}
	props.Location.Type = driver.CU_MEM_LOCATION_TYPE_DEVICE
	var host unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&host, 64, 0))
	r.t.Cleanup(func() { r.CuMemFreeHost(host) })
	image := append([]byte(testPTX), 0)
	var lib driver.CUlibrary
	r.ok(r.CuLibraryLoadData(&lib, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0))
	r.t.Cleanup(func() { r.CuLibraryUnload(lib) })
	var kern driver.CUkernel
	r.ok(r.CuLibraryGetKernel(&kern, lib, cstr("add")))
	g0 := r.graph()
	r.addKernel(g0, add, p, 0, 1)
	buf := make([]byte, 8192)
	relax := func(f func() error) error {
		mode := relaxed
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		err := f()
		r.ok(r.CuThreadExchangeStreamCaptureMode(&mode))
		return err
	}
	fn := driver.CUhostFn(loader.NewCallback(func(uintptr) {}))
	do := func(what string, f func() error) {
		r.settle()
		r.ok(r.CuStreamBeginCapture(s, global))
		err := f()
		var st driver.CUstreamCaptureStatus
		_ = r.CuStreamIsCapturing(s, &st)
		var g driver.CUgraph
		end := r.CuStreamEndCapture(s, &g)
		t.Logf("PROBE in capture: %s = %d, status %d, end %d", what, code(err), st, code(end))
		if g != 0 {
			r.CuGraphDestroy(g)
		}
	}
	var v int32
	var q driver.CUdeviceptr
	var n uintptr
	do("cuMemPoolDestroy", func() error {
		var pl driver.CUmemoryPool
		r.ok(relax(func() error { return r.CuMemPoolCreate(&pl, &props) }))
		err := r.CuMemPoolDestroy(pl)
		if err != nil {
			relax(func() error { return r.CuMemPoolDestroy(pl) })
		}
		return err
	})
	do("cuMemPoolSetAttribute", func() error {
		th := uint64(0)
		return r.CuMemPoolSetAttribute(pool, driver.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, unsafe.Pointer(&th))
	})
	do("cuMemPoolGetAttribute", func() error {
		th := uint64(0)
		return r.CuMemPoolGetAttribute(pool, driver.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&th))
	})
	do("cuMemPoolSetAccess", func() error {
		d := driver.CUmemAccessDesc{Flags: 3}
		d.Location.Type = 1
		return r.CuMemPoolSetAccess(pool, &d, 1)
	})
	do("cuDeviceSetMemPool", func() error { return r.CuDeviceSetMemPool(r.dev, pool) })
	do("cuMemHostUnregister", func() error {
		r.ok(relax(func() error { return r.CuMemHostRegister(unsafe.Pointer(&buf[0]), 8192, 0) }))
		err := r.CuMemHostUnregister(unsafe.Pointer(&buf[0]))
		if err != nil {
			relax(func() error { return r.CuMemHostUnregister(unsafe.Pointer(&buf[0])) })
		}
		return err
	})
	do("cuMemHostGetDevicePointer", func() error { return r.CuMemHostGetDevicePointer(&q, host, 0) })
	do("cuMemGetAddressRange", func() error { return r.CuMemGetAddressRange(&q, &n, p) })
	do("cuPointerGetAttribute", func() error {
		return r.CuPointerGetAttribute(unsafe.Pointer(&v), driver.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p)
	})
	do("cuEventElapsedTime", func() error { var ms float32; return r.CuEventElapsedTime(&ms, ev, ev2) })
	do("cuFuncSetAttribute", func() error {
		return r.CuFuncSetAttribute(add, driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 10)
	})
	do("cuFuncGetAttribute", func() error { return r.CuFuncGetAttribute(&v, 0, add) })
	do("cuFuncLoad", func() error { return r.CuFuncLoad(add) })
	do("cuModuleGetFunction", func() error { var f driver.CUfunction; return r.CuModuleGetFunction(&f, m, cstr("shift")) })
	do("cuModuleGetGlobal", func() error { return r.CuModuleGetGlobal(&q, &n, m, cstr("counter")) })
	do("cuKernelGetFunction", func() error { var f driver.CUfunction; return r.CuKernelGetFunction(&f, kern) })
	do("cuLibraryGetGlobal", func() error { return r.CuLibraryGetGlobal(&q, &n, lib, cstr("counter")) })
	do("cuOccupancy", func() error { return r.CuOccupancyMaxActiveBlocksPerMultiprocessor(&v, add, 32, 0) })
	do("cuLaunchHostFunc other", func() error { return r.CuLaunchHostFunc(o, fn, nil) })
	do("cuLaunchKernel other", func() error { return r.launch(add, o, p, 0, 1) })
	do("cuLaunchKernel legacy", func() error { return r.launch(add, 0, p, 0, 1) })
	do("cuCtxGetLimit", func() error { return r.CuCtxGetLimit(&n, 0) })
	do("cuCtxSetCacheConfig", func() error { return r.CuCtxSetCacheConfig(0) })
	do("cuStreamSetAttribute other", func() error {
		var a driver.CUlaunchAttributeValue
		*a.Priority() = -1
		return r.CuStreamSetAttribute(o, driver.CU_LAUNCH_ATTRIBUTE_PRIORITY, &a)
	})
	do("cuGraphClone", func() error { var g driver.CUgraph; err := r.CuGraphClone(&g, g0); r.CuGraphDestroy(g); return err })
	do("cuGraphAddKernelNode", func() error {
		var nn driver.CUgraphNode
		return r.CuGraphAddKernelNode(&nn, g0, nil, 0, kernelNode(add, p, 0, 1))
	})
	do("cuMemAllocManaged", func() error {
		err := r.CuMemAllocManaged(&q, 64, 1)
		if err == nil {
			relax(func() error { return r.CuMemFree(q) })
		}
		return err
	})
	do("cuMemAddressReserve", func() error {
		err := r.CuMemAddressReserve(&q, 2<<20, 0, 0, 0)
		if err == nil {
			relax(func() error { return r.CuMemAddressFree(q, 2<<20) })
		}
		return err
	})
	do("cuMemCreate", func() error {
		var h driver.CUmemGenericAllocationHandle
		pr := driver.CUmemAllocationProp{Type: 1}
		pr.Location.Type = 1
		err := r.CuMemCreate(&h, 2<<20, &pr, 0)
		if err == nil {
			r.CuMemRelease(h)
		}
		return err
	})
	do("cuArrayCreate", func() error {
		var a driver.CUarray
		err := r.CuArrayCreate(&a, &driver.CUDA_ARRAY_DESCRIPTOR{Width: 4, Format: 0x20, NumChannels: 1})
		if err == nil {
			relax(func() error { return r.CuArrayDestroy(a) })
		}
		return err
	})
	do("cuCtxCreate", func() error {
		var c driver.CUcontext
		err := r.CuCtxCreate(&c, nil, 0, r.dev)
		if err == nil {
			relax(func() error { return r.CuCtxDestroy(c) })
		}
		return err
	})
	do("cuDevicePrimaryCtxRetain", func() error {
		var c driver.CUcontext
		err := r.CuDevicePrimaryCtxRetain(&c, r.dev)
		if err == nil {
			err = r.CuDevicePrimaryCtxRelease(r.dev)
		}
		return err
	})
	do("cuUserObject", func() error {
		var u driver.CUuserObject
		err := r.CuUserObjectCreate(&u, nil, fn, 1, 1)
		if err == nil {
			err = r.CuUserObjectRelease(u, 1)
		}
		return err
	})
	do("cuMemcpyDtoHAsync pageable other", func() error { return r.CuMemcpyDtoHAsync(unsafe.Pointer(&buf[0]), p, 64, o) })
	do("cuMemcpy2D", func() error {
		return r.CuMemcpy2D(&driver.CUDA_MEMCPY2D{SrcMemoryType: 2, SrcDevice: p, DstMemoryType: 2, DstDevice: p + 64, WidthInBytes: 4, Height: 1})
	})
	do("capture copy bad", func() error { return r.CuMemcpyDtoDAsync(1<<20, p, 4, s) })
	do("capture copy null", func() error { return r.CuMemcpyDtoDAsync(0, p, 4, s) })
	do("capture memset misaligned", func() error { return r.CuMemsetD32Async(p+1, 0, 1, s) })
	do("capture wait value bad", func() error { return r.CuStreamWaitValue32(s, 64, 0, 0) })
	do("capture host null", func() error { return r.CuLaunchHostFunc(s, 0, nil) })
	do("capture record bad flags", func() error { return r.CuEventRecordWithFlags(ev, s, 8) })
	do("capture wait bad flags", func() error { return r.CuStreamWaitEvent(s, ev, 8) })
	do("capture alloc 0", func() error { return r.CuMemAllocAsync(&q, 0, s) })
	do("capture alloc huge", func() error { return r.CuMemAllocAsync(&q, 1<<50, s) })
	do("exec update", func() error { return nil })
	// wrong thread
	r.ok(r.CuStreamBeginCapture(s, global))
	r.elsewhere(func() {
		var g driver.CUgraph
		r.say("end elsewhere", r.CuStreamEndCapture(s, &g))
		t.Logf("PROBE graph after it %v", g != 0)
		var st driver.CUstreamCaptureStatus
		_ = r.CuStreamIsCapturing(s, &st)
		t.Logf("PROBE status after it %d", st)
	})
	r.say("alloc after it", func() error {
		var q driver.CUdeviceptr
		e := r.CuMemAlloc(&q, 4)
		if e == nil {
			e = r.CuMemFree(q)
		}
		return e
	}())
	r.say("end here", r.endCapture(s))
	// unjoined: is the fork free at once
	b, fork := r.stream(), r.event(2)
	r.ok(r.CuStreamBeginCapture(s, relaxed))
	r.ok(r.CuEventRecord(fork, s))
	r.ok(r.CuStreamWaitEvent(b, fork, 0))
	r.say("destroy fork stream in capture", func() error {
		var d driver.CUstream
		r.ok(r.CuStreamCreate(&d, 1))
		r.ok(r.CuStreamWaitEvent(d, fork, 0))
		return r.CuStreamDestroy(d)
	}())
	var st driver.CUstreamCaptureStatus
	_ = r.CuStreamIsCapturing(s, &st)
	t.Logf("PROBE status after destroying a fork %d", st)
	r.say("end", r.endCapture(s))
}
