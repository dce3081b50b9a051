package emulator_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestAllocationErrors(t *testing.T) {
	r := newRig(t)
	var p cu.CUdeviceptr
	r.want("zero bytes", r.CuMemAlloc(&p, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("too much", r.CuMemAlloc(&p, 1<<50), cu.CUDA_ERROR_OUT_OF_MEMORY)
	r.want("free of nothing", r.CuMemFree(0), 0)
	r.want("free of a wild address", r.CuMemFree(12345), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemAlloc(&p, 1024))
	r.want("free of an inner address", r.CuMemFree(p+16), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemFree(p))
	r.want("second free", r.CuMemFree(p), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("copy to freed memory", r.CuMemsetD8(p, 0, 4), cu.CUDA_ERROR_INVALID_VALUE)
	var base cu.CUdeviceptr
	var size uintptr
	r.want("range of freed memory", r.CuMemGetAddressRange(&base, &size, p), cu.CUDA_ERROR_NOT_FOUND)
	r.want("pitch of odd elements", r.CuMemAllocPitch(&p, &size, 100, 10, 3), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestMemoryIsLimited(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRigWith(t, emulator.Config{LimitMemory: 1 << 20})
	var p, q cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, 1<<19))
	r.want("more than is left", r.CuMemAlloc(&q, 1<<19+1), cu.CUDA_ERROR_OUT_OF_MEMORY)
	var free, total uintptr
	r.ok(r.CuMemGetInfo(&free, &total))
	if free != 1<<19 {
		t.Errorf("free: %d", free)
	}
	r.ok(r.CuMemFree(p))
	r.ok(r.CuMemAlloc(&q, 1<<20))
	r.ok(r.CuMemFree(q))
	r.want("stream-ordered", r.CuMemAllocAsync(&q, 1<<20+1, r.stream()), cu.CUDA_ERROR_OUT_OF_MEMORY)
}

func TestAddressRangeAndPointerAttributes(t *testing.T) {
	r := newRig(t)
	p := r.alloc(1000)
	var base cu.CUdeviceptr
	var size uintptr
	r.ok(r.CuMemGetAddressRange(&base, &size, p+500))
	if base != p || size != 1000 {
		t.Errorf("range %#x of %d", base, size)
	}
	var kind, ordinal uint32
	r.ok(r.CuPointerGetAttribute(unsafe.Pointer(&kind), cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p))
	r.ok(r.CuPointerGetAttribute(unsafe.Pointer(&ordinal), cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p))
	if kind != uint32(cu.CU_MEMORYTYPE_DEVICE) || ordinal != 0 {
		t.Errorf("type %d on device %d", kind, ordinal)
	}
	var ctx cu.CUcontext
	r.ok(r.CuPointerGetAttribute(unsafe.Pointer(&ctx), cu.CU_POINTER_ATTRIBUTE_CONTEXT, p))
	if ctx != r.ctx {
		t.Error("another context")
	}
	r.want("unknown pointer", r.CuPointerGetAttribute(unsafe.Pointer(&kind), cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4242), cu.CUDA_ERROR_INVALID_VALUE)
	attr := cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
	data := unsafe.Pointer(&kind)
	r.ok(r.CuPointerGetAttributes(1, &attr, &data, 4242))
	if kind != 0 {
		t.Errorf("an unknown pointer has type %d", kind)
	}
	ordinal = 9
	attrs := []cu.CUpointer_attribute{attr, cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL}
	r.ok(r.CuPointerGetAttributes(2, &attrs[0], &[]unsafe.Pointer{data, unsafe.Pointer(&ordinal)}[0], p))
	if kind != uint32(cu.CU_MEMORYTYPE_DEVICE) || ordinal != 0 {
		t.Errorf("two attributes: type %d on device %d", kind, ordinal)
	}
}

// An allocation node's address must become free again when its graph is destroyed. Together, the
// nodes of this test need more addresses than a device has.
func TestAddressesOfDestroyedGraphsAreUsedAgain(t *testing.T) {
	r := newRig(t)
	if r.emu == nil {
		t.Skip("about the emulator's address space")
	}
	alloc := cu.CUDA_MEM_ALLOC_NODE_PARAMS{Bytesize: 16 << 30}
	alloc.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	alloc.PoolProps.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	for range 80 {
		var g cu.CUgraph
		var n cu.CUgraphNode
		r.ok(r.CuGraphCreate(&g, 0))
		r.ok(r.CuGraphAddMemAllocNode(&n, g, nil, 0, &alloc))
		r.ok(r.CuGraphDestroy(g))
	}
}

func TestCopiesBetweenHostAndDevice(t *testing.T) {
	r := newRig(t)
	p, q := r.alloc(16), r.alloc(16)
	in := []uint32{1, 2, 3, 4}
	r.ok(r.CuMemcpyHtoD(p, unsafe.Pointer(&in[0]), 16))
	r.ok(r.CuMemcpyDtoD(q, p, 16))
	r.wantWords("copy", q, 1, 2, 3, 4)
	r.ok(r.CuMemcpy(p+4, q, 8))
	r.wantWords("unified copy", p, 1, 1, 2, 4)
	r.want("past the end", r.CuMemcpyHtoD(p+1<<40, unsafe.Pointer(&in[0]), 16), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("from nowhere", r.CuMemcpyHtoD(p, nil, 16), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("nothing", r.CuMemcpyHtoD(p, unsafe.Pointer(&in[0]), 0), 0)
}

// As soon as the call for an asynchronous copy has returned, the caller may change the copy's
// pageable source, even if the copy has not run.
func TestPageableSourceIsReadAtTheCall(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(8), r.stream()
	g := r.gate()
	in := []uint32{1, 2}
	g.block(s)
	r.ok(r.CuMemcpyHtoDAsync(p, unsafe.Pointer(&in[0]), 8, s))
	in[0], in[1] = 8, 9
	g.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("pageable", p, 1, 2)
}

func TestPageLockedMemoryIsReadWhenTheStreamGetsThere(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(8), r.stream()
	var host unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&host, 8, 0))
	in := unsafe.Slice((*uint32)(host), 2)
	in[0], in[1] = 1, 2
	g := r.gate()
	g.block(s)
	r.ok(r.CuMemcpyHtoDAsync(p, host, 8, s))
	in[0] = 5
	g.open()
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("page-locked", p, 5, 2)
	r.ok(r.CuMemcpyDtoHAsync(unsafe.Add(host, 4), p, 4, s))
	r.ok(r.CuStreamSynchronize(s))
	if in[1] != 5 {
		t.Errorf("copied back %d", in[1])
	}
	var d cu.CUdeviceptr
	r.ok(r.CuMemHostGetDevicePointer(&d, host, 0))
	r.ok(r.launch(r.kernel("add"), s, d, 0, 3))
	r.ok(r.CuStreamSynchronize(s))
	if in[0] != 8 {
		t.Errorf("a kernel left %d", in[0])
	}
	r.ok(r.CuMemFreeHost(host))
}

func TestHostMemoryErrors(t *testing.T) {
	r := newRig(t)
	var host unsafe.Pointer
	r.want("flags", r.CuMemHostAlloc(&host, 8, 0x80), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("free of nothing", r.CuMemFreeHost(nil), 0)
	buf := make([]byte, 8192)
	p := unsafe.Pointer(&buf[0])
	r.want("free of unknown memory", r.CuMemFreeHost(p), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("unregister", r.CuMemHostUnregister(p), cu.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
	r.ok(r.CuMemHostRegister(p, 8192, 0))
	r.want("register twice", r.CuMemHostRegister(p, 8192, 0), cu.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
	r.ok(r.CuMemHostUnregister(p))
	r.want("register nothing", r.CuMemHostRegister(nil, 8, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemHostAlloc(&host, 0x1000, 0))
	r.want("device free of host memory", r.CuMemFree(cu.CUdeviceptr(uintptr(host))), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemFreeHost(host))
}

func TestFills(t *testing.T) {
	r := newRig(t)
	p, s := r.alloc(64), r.stream()
	r.ok(r.CuMemsetD32Async(p, 0x01020304, 2, s))
	r.ok(r.CuMemsetD16Async(p+8, 0x0506, 2, s))
	r.ok(r.CuMemsetD8Async(p+12, 7, 4, s))
	r.wantWords("fill", p, 0x01020304, 0x01020304, 0x05060506, 0x07070707)
	r.ok(r.CuMemsetD8(p, 0, 64))
	r.ok(r.CuMemsetD2D32(p, 16, 9, 2, 3))
	r.wantWords("2D fill", p, 9, 9, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0)
	r.want("misaligned", r.CuMemsetD32(p+2, 0, 1), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("nothing", r.CuMemsetD32(p, 0, 0), 0)
}

func TestCopiesOfRectanglesAndBoxes(t *testing.T) {
	r := newRig(t)
	p := r.alloc(64)
	in := []uint32{1, 2, 3, 4, 5, 6}
	r.ok(r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_HOST, SrcHost: unsafe.Pointer(&in[0]), SrcPitch: 12,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p, DstPitch: 16, DstXInBytes: 4,
		WidthInBytes: 8, Height: 2,
	}))
	r.wantWords("2D", p, 0, 1, 2, 0, 0, 4, 5, 0)
	r.ok(r.CuMemsetD8(p, 0, 64))
	r.ok(r.CuMemcpy3D(&cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_HOST, SrcHost: unsafe.Pointer(&in[0]), SrcPitch: 4, SrcHeight: 3,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p, DstPitch: 8, DstHeight: 2,
		WidthInBytes: 4, Height: 2, Depth: 2,
	}))
	r.wantWords("3D", p, 1, 0, 2, 0, 4, 0, 5, 0)
	r.want("pitch too small", r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, SrcPitch: 4,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p + 32, DstPitch: 8, WidthInBytes: 8, Height: 2,
	}), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestStreamOrderedMemory(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var pool cu.CUmemoryPool
	r.ok(r.CuDeviceGetDefaultMemPool(&pool, r.dev))
	var p cu.CUdeviceptr
	r.ok(r.CuMemAllocAsync(&p, 1024, s))
	r.ok(r.CuMemsetD32Async(p, 3, 4, s))
	var used uint64
	r.ok(r.CuMemPoolGetAttribute(pool, cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&used)))
	if used < 1024 {
		t.Errorf("used: %d", used)
	}
	r.wantWords("stream-ordered", p, 3, 3, 3, 3)
	r.ok(r.CuMemFreeAsync(p, s))
	r.want("second free", r.CuMemFreeAsync(p, s), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuStreamSynchronize(s))
	r.ok(r.CuMemPoolGetAttribute(pool, cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, unsafe.Pointer(&used)))
	if used != 0 {
		t.Errorf("used after the free: %d", used)
	}
	p = 1
	r.want("zero bytes", r.CuMemAllocAsync(&p, 0, s), 0)
	r.want("free of what zero bytes are", r.CuMemFreeAsync(p, s), 0)
	r.ok(r.CuMemAllocAsync(&p, 64, s))
	r.ok(r.CuMemFree(p))
	r.want("destroy of the default pool", r.CuMemPoolDestroy(pool), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestOwnPool(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	var pool cu.CUmemoryPool
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED}
	props.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	r.ok(r.CuMemPoolCreate(&pool, &props))
	threshold := uint64(1 << 30)
	r.ok(r.CuMemPoolSetAttribute(pool, cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, unsafe.Pointer(&threshold)))
	var p cu.CUdeviceptr
	r.ok(r.CuMemAllocFromPoolAsync(&p, 1<<20, pool, s))
	r.ok(r.CuMemFreeAsync(p, s))
	r.ok(r.CuStreamSynchronize(s))
	var reserved uint64
	r.ok(r.CuMemPoolGetAttribute(pool, cu.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, unsafe.Pointer(&reserved)))
	if reserved < 1<<20 {
		t.Errorf("nothing is released below the threshold, but reserved is %d", reserved)
	}
	r.ok(r.CuMemPoolTrimTo(pool, 0))
	r.ok(r.CuMemPoolGetAttribute(pool, cu.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, unsafe.Pointer(&reserved)))
	if reserved != 0 {
		t.Errorf("reserved after the trim: %d", reserved)
	}
	r.ok(r.CuMemPoolDestroy(pool))
}

func TestManagedMemoryIsSharedWithTheHost(t *testing.T) {
	r := newRig(t)
	if onGPU {
		t.Skip("its use has hung GPUs of this kind")
	}
	var p cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&p, 8, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	r.ok(r.launch(r.kernel("store"), 0, p, 1, 42))
	r.wantWords("managed", p, 0, 42)
	r.ok(r.CuMemFree(p))
}

// The device reported for an address must be the device of the context that allocated the memory.
func TestPointersTellTheirDevice(t *testing.T) {
	r := newRigWith(t, emulator.Config{Devices: 3})
	if r.emu == nil {
		t.Skip("what follows is about the emulator alone")
	}
	for i := range int32(3) {
		var dev cu.CUdevice
		r.ok(r.CuDeviceGet(&dev, i))
		var ctx cu.CUcontext
		r.ok(r.CuDevicePrimaryCtxRetain(&ctx, dev))
		r.ok(r.CuCtxSetCurrent(ctx))
		var p cu.CUdeviceptr
		r.ok(r.CuMemAlloc(&p, 64))
		ordinal, tokens := int32(-1), [2]uint64{}
		r.ok(r.CuPointerGetAttribute(unsafe.Pointer(&ordinal), cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p))
		r.ok(r.CuPointerGetAttribute(unsafe.Pointer(&tokens), cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS, p))
		if ordinal != i || tokens[1] != uint64(i) {
			t.Errorf("memory of device %d is of device %d, tokens %d", i, ordinal, tokens)
		}
		r.ok(r.CuMemFree(p))
		r.ok(r.CuDevicePrimaryCtxRelease(dev))
	}
	r.ok(r.CuCtxSetCurrent(r.ctx))
}

// mapped maps physical memory at an address without access rights.
func (r *rig) mapped() (p cu.CUdeviceptr, size uintptr) {
	r.t.Helper()
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED}
	prop.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	r.ok(r.CuMemGetAllocationGranularity(&size, &prop, cu.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
	var h cu.CUmemGenericAllocationHandle
	r.ok(r.CuMemCreate(&h, size, &prop, 0))
	r.ok(r.CuMemAddressReserve(&p, size, 0, 0, 0))
	r.ok(r.CuMemMap(p, size, 0, h, 0))
	r.ok(r.CuMemRelease(h))
	r.t.Cleanup(func() { r.CuMemUnmap(p, size); r.CuMemAddressFree(p, size) })
	return p, size
}

func (r *rig) allow(p cu.CUdeviceptr, size uintptr, how cu.CUmemAccess_flags) {
	r.t.Helper()
	d := cu.CUmemAccessDesc{Flags: how}
	d.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	r.ok(r.CuMemSetAccess(p, size, &d, 1))
}

func TestKernelsReachWhatIsMapped(t *testing.T) {
	r := newRig(t)
	p, size := r.mapped()
	r.allow(p, size, cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
	last := p + cu.CUdeviceptr(size) - 4
	r.ok(r.CuMemsetD32(last, 30, 1))
	r.ok(r.launch(r.kernel("add"), 0, last, 0, 12))
	r.ok(r.CuCtxSynchronize())
	var got uint32
	r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&got), last, 4))
	if got != 42 {
		t.Errorf("got %d", got)
	}
}

func TestAccessIsSetAsAWhole(t *testing.T) {
	r := newRig(t)
	p, size := r.mapped()
	var list [2]cu.CUmemAccessDesc
	for i := range list {
		list[i].Flags = cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		list[i].Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	}
	list[1].Location.Id = 99
	if code(r.CuMemSetAccess(p, size, &list[0], 2)) == 0 {
		t.Error("there is a device 99")
	}
	var flags uint64
	r.ok(r.CuMemGetAccess(&flags, &list[0].Location, p))
	if flags != uint64(cu.CU_MEM_ACCESS_FLAGS_PROT_NONE) {
		t.Errorf("access %d after a call that failed", flags)
	}
}

func TestKernelsDoNotReachWhatIsNotMapped(t *testing.T) {
	if onGPU {
		t.Skip("a fault ends a driver's context")
	}
	for what, change := range map[string]func(r *rig, p cu.CUdeviceptr, size uintptr){
		"without access":   func(*rig, cu.CUdeviceptr, uintptr) {},
		"to read only":     func(r *rig, p cu.CUdeviceptr, n uintptr) { r.allow(p, n, cu.CU_MEM_ACCESS_FLAGS_PROT_READ) },
		"without a memory": func(r *rig, p cu.CUdeviceptr, n uintptr) { r.ok(r.CuMemUnmap(p, n)) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.forgive = true
			p, size := r.mapped()
			change(r, p, size)
			r.ok(r.launch(r.kernel("add"), 0, p, 0, 1))
			if c := code(r.CuCtxSynchronize()); c != cu.CUDA_ERROR_ILLEGAL_ADDRESS {
				t.Errorf("got %v", c)
			}
			if f := r.emu.LastFault(); !strings.Contains(f, "kernel add") {
				t.Errorf("report: %s", f)
			}
		})
	}
}

func (r *rig) readMostly(p cu.CUdeviceptr, size uintptr) (v int32) {
	r.t.Helper()
	r.ok(r.CuMemRangeGetAttribute(unsafe.Pointer(&v), 4, cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, size))
	return v
}

func TestAdviceIsOfThePagesItWasGivenFor(t *testing.T) {
	r := newRig(t)
	const page, size = 2 << 20, 8 << 20
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, size, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	r.ok(r.CuMemAdvise(m+page, 2*page, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	r.ok(r.CuMemAdvise(m+2*page, page, cu.CU_MEM_ADVISE_UNSET_READ_MOSTLY, device0))
	for i, want := range []int32{0, 1, 0, 0} {
		if got := r.readMostly(m+cu.CUdeviceptr(i*page), page); got != want {
			t.Errorf("part %d: %d", i, got)
		}
	}
	if got := r.readMostly(m, size); got != 0 {
		t.Errorf("of all: %d", got)
	}
	r.ok(r.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	if got := r.readMostly(m, size); got != 1 {
		t.Errorf("of all, advised: %d", got)
	}
}

func TestAPrefetchBreaksACapture(t *testing.T) {
	if onGPU {
		t.Skip("drivers were not asked")
	}
	r := newRig(t)
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, 4096, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	s := r.stream()
	r.ok(r.CuStreamBeginCapture(s, cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	r.want("prefetch", r.CuMemPrefetchAsync(m, 4096, device0, 0, s), cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
	var g cu.CUgraph
	r.want("end", r.CuStreamEndCapture(s, &g), cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
}

// The second location must apply to every range from the location's index onwards.
func TestABatchFetchesToItsLocations(t *testing.T) {
	r := newRig(t)
	const page = 2 << 20
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, 3*page, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	ptrs := [3]cu.CUdeviceptr{m, m + page, m + 2*page}
	sizes := [3]uintptr{page, page, page}
	locs, from := [2]cu.CUmemLocation{device0, host}, [2]uintptr{0, 1}
	r.ok(r.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 3, &locs[0], &from[0], 2, 0, r.stream()))
	r.settle()
	for i, want := range []int32{0, -1, -1} {
		var got int32
		r.ok(r.CuMemRangeGetAttribute(unsafe.Pointer(&got), 4, cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, ptrs[i], page))
		if got != want {
			t.Errorf("range %d was fetched to %d, not to %d", i, got, want)
		}
	}
}

func TestReuseAddresses(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{ReuseAddresses: reuse}))
		seen := map[cu.CUdeviceptr]bool{}
		for range 5 {
			b, err := driver.Alloc[byte](c, 3<<20)
			if err != nil {
				t.Fatal(err)
			}
			seen[b.Ptr()] = true
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 5, true: 1}[reuse]; len(seen) != want {
			t.Errorf("ReuseAddresses %v: 5 allocations have %d addresses, want %d", reuse, len(seen), want)
		}
	}
}
