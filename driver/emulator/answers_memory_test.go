package emulator_test

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

func askRanges(q *questioner) {
	const size = 2 << 20
	m, p := q.managed(size), q.alloc(4096)
	locations := map[string]cu.CUmemLocation{
		"device": device0, "host": host, "device 99": {Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: 99}, "none": {},
		"numa 0": {Type: cu.CU_MEM_LOCATION_TYPE_HOST_NUMA}, "numa current": {Type: cu.CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT},
		"device -1": {Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: -1},
	}
	order := []string{"device", "host", "device 99", "device -1", "none", "numa 0", "numa current"}
	askRange(q, m, "new")
	for _, name := range order {
		q.ask("prefetch to "+name, q.CuMemPrefetchAsync(m, size, locations[name], 0, 0))
	}
	q.settle()
	q.ask("prefetch of device memory", q.CuMemPrefetchAsync(p, 4096, device0, 0, 0))
	q.ask("prefetch of nothing", q.CuMemPrefetchAsync(m, 0, device0, 0, 0))
	q.ask("prefetch at 0", q.CuMemPrefetchAsync(0, size, device0, 0, 0))
	q.ask("prefetch beyond the end", q.CuMemPrefetchAsync(m, 2*size, device0, 0, 0))
	q.ask("prefetch with a flag", q.CuMemPrefetchAsync(m, size, device0, 1, 0))
	for _, dev := range []cu.CUdevice{0, -1, 99, -2} {
		q.ask("old prefetch to "+itoa(int(dev)), q.CuMemPrefetchAsync_v8000(m, size, dev, 0))
	}
	q.settle()
	askRange(q, m, "prefetched to the host")
	for _, name := range order {
		q.ask("preferred "+name, q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, locations[name]))
		q.ask("accessed by "+name, q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_ACCESSED_BY, locations[name]))
	}
	q.ok(q.CuMemPrefetchAsync(m, size, device0, 0, 0))
	q.ok(q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device0))
	q.ok(q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	q.settle()
	askRange(q, m, "advised")
	q.ask("read mostly anywhere", q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, locations["device 99"]))
	q.ok(q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_UNSET_READ_MOSTLY, device0))
	q.ok(q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device0))
	q.ok(q.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_UNSET_ACCESSED_BY, device0))
	askRange(q, m, "unadvised")
	q.ok(q.CuMemAdvise(m, size/2, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	askRange(q, m, "half advised")
	for _, a := range []cu.CUmem_advise{0, 7, 99} {
		q.ask("advice "+itoa(int(a)), q.CuMemAdvise(m, size, a, device0))
	}
	q.ask("advice about device memory", q.CuMemAdvise(p, 4096, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	q.ask("advice about nothing", q.CuMemAdvise(m, 0, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	for _, dev := range []cu.CUdevice{0, -1, 99} {
		q.ask("old preferred "+itoa(int(dev)), q.CuMemAdvise_v8000(m, size, cu.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev))
		q.ask("old accessed by "+itoa(int(dev)), q.CuMemAdvise_v8000(m, size, cu.CU_MEM_ADVISE_SET_ACCESSED_BY, dev))
	}
	askRangeErrors(q, m, p)
	askRangeBatches(q, m, p)
}

func askRange(q *questioner, m cu.CUdeviceptr, state string) {
	for a := cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY; a <= cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID; a++ {
		v := int32(-77)
		err := q.CuMemRangeGetAttribute(unsafe.Pointer(&v), 4, a, m, 2<<20)
		q.ask(state+" attribute "+itoa(int(a)), err, v)
	}
}

func askRangeErrors(q *questioner, m, p cu.CUdeviceptr) {
	var v [4]int32
	at := unsafe.Pointer(&v)
	read := cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY
	q.ask("attribute of device memory", q.CuMemRangeGetAttribute(at, 4, read, p, 4096), v[0])
	q.ask("attribute of nothing", q.CuMemRangeGetAttribute(at, 4, read, m, 0))
	q.ask("attribute beyond the end", q.CuMemRangeGetAttribute(at, 4, read, m, 4<<20))
	q.ask("attribute of 8 bytes", q.CuMemRangeGetAttribute(at, 8, read, m, 4096))
	q.ask("attribute of 0 bytes", q.CuMemRangeGetAttribute(at, 0, read, m, 4096))
	q.ask("attribute to NULL", q.CuMemRangeGetAttribute(nil, 4, read, m, 4096))
	q.ask("attribute 0", q.CuMemRangeGetAttribute(at, 4, 0, m, 4096))
	q.ask("attribute 99", q.CuMemRangeGetAttribute(at, 4, 99, m, 4096))
	accessed := cu.CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
	v = [4]int32{5, 5, 5, 5}
	q.ask("accessed by of 12 bytes", q.CuMemRangeGetAttribute(at, 12, accessed, m, 4096), v)
	q.ask("accessed by of 6 bytes", q.CuMemRangeGetAttribute(at, 6, accessed, m, 4096))
	values := [2]unsafe.Pointer{unsafe.Pointer(&v[0]), unsafe.Pointer(&v[1])}
	sizes := [2]uintptr{4, 4}
	attrs := [2]cu.CUmem_range_attribute{read, cu.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION}
	q.ask("two attributes", q.CuMemRangeGetAttributes(&values[0], &sizes[0], &attrs[0], 2, m, 4096), v[:2])
	q.ask("no attributes", q.CuMemRangeGetAttributes(&values[0], &sizes[0], &attrs[0], 0, m, 4096))
	q.ask("attributes to NULL", q.CuMemRangeGetAttributes(nil, &sizes[0], &attrs[0], 2, m, 4096))
	attrs[1] = 99
	q.ask("an unknown one of two", q.CuMemRangeGetAttributes(&values[0], &sizes[0], &attrs[0], 2, m, 4096))
}

func askRangeBatches(q *questioner, m, p cu.CUdeviceptr) {
	ptrs, sizes := [2]cu.CUdeviceptr{m, m + 4096}, [2]uintptr{4096, 4096}
	locs, idx := [1]cu.CUmemLocation{device0}, [1]uintptr{0}
	s := q.stream()
	q.ask("batch of prefetches", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 0, s))
	q.ask("batch in the NULL stream", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 0, 0))
	q.ask("empty batch", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 0, &locs[0], &idx[0], 1, 0, s))
	q.ask("batch without locations", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 0, 0, s))
	q.ask("batch with a flag", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 1, s))
	q.ask("batch of discards", q.CuMemDiscardBatchAsync(&ptrs[0], &sizes[0], 2, 0, s))
	q.ask("batch of discards and prefetches", q.CuMemDiscardAndPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 0, s))
	idx[0] = 1
	q.ask("batch whose first location is for the second", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 0, s))
	idx[0] = 0
	ptrs[1] = p
	q.ask("batch with device memory", q.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 2, &locs[0], &idx[0], 1, 0, s))
	q.ask("discard of device memory", q.CuMemDiscardBatchAsync(&ptrs[0], &sizes[0], 2, 0, s))
	q.ask("empty batch of discards", q.CuMemDiscardBatchAsync(&ptrs[0], &sizes[0], 0, 0, s))
	q.settle()
}

func askMemory(q *questioner) {
	var p cu.CUdeviceptr
	var pitch, size uintptr
	q.ask("alloc of nothing", q.CuMemAlloc(&p, 0))
	q.ask("alloc to NULL", q.CuMemAlloc(nil, 4))
	q.ask("alloc of everything", q.CuMemAlloc(&p, 1<<60))
	for _, element := range []uint32{1, 2, 4, 8, 16, 32} {
		err := q.CuMemAllocPitch(&p, &pitch, 100, 3, element)
		q.ask("pitch for elements of "+itoa(int(element)), err, pitch)
		if err == nil {
			q.ok(q.CuMemFree(p))
		}
	}
	q.ask("pitch without width", q.CuMemAllocPitch(&p, &pitch, 0, 3, 4))
	q.ask("pitch without height", q.CuMemAllocPitch(&p, &pitch, 4, 0, 4))
	q.ask("managed of nothing", q.CuMemAllocManaged(&p, 0, 1))
	q.ask("managed without flags", q.CuMemAllocManaged(&p, 4, 0))
	q.ask("managed for one stream", q.CuMemAllocManaged(&p, 4, uint32(cu.CU_MEM_ATTACH_SINGLE)))
	d := q.alloc(4096)
	q.ask("address range", q.CuMemGetAddressRange(&p, &size, d+100), p == d, size)
	q.ask("address range of nothing", q.CuMemGetAddressRange(&p, &size, 64))
	q.ask("address range to NULL", q.CuMemGetAddressRange(nil, nil, d))
	q.ask("free in the middle", q.CuMemFree(d+4))
	q.ask("free of 0", q.CuMemFree(0))
	q.ask("free of nothing", q.CuMemFree(64))
	var h unsafe.Pointer
	var flags uint32
	q.ask("host alloc of nothing", q.CuMemHostAlloc(&h, 0, 0), h == nil)
	q.ask("host alloc with unknown flags", q.CuMemHostAlloc(&h, 4, 64))
	q.ok(q.CuMemHostAlloc(&h, 8192, cu.CU_MEMHOSTALLOC_PORTABLE))
	q.ask("host flags", q.CuMemHostGetFlags(&flags, h), flags)
	q.ask("host pointer in the middle", q.CuMemHostGetDevicePointer(&p, unsafe.Add(h, 8), 0), uintptr(p) == uintptr(h)+8)
	q.ask("host pointer with a flag", q.CuMemHostGetDevicePointer(&p, h, 1))
	q.ask("register what the driver made", q.CuMemHostRegister(h, 4096, 0))
	q.ask("unregister what the driver made", q.CuMemHostUnregister(h))
	q.ask("free of host memory as device memory", q.CuMemFree(cu.CUdeviceptr(uintptr(h))))
	q.ask("free of host memory", q.CuMemFreeHost(h))
	q.ask("free of no host memory", q.CuMemFreeHost(nil))
	page := alignedPages(4)
	q.ask("flags of ordinary memory", q.CuMemHostGetFlags(&flags, page))
	q.ask("device pointer of ordinary memory", q.CuMemHostGetDevicePointer(&p, page, 0))
	q.ask("unregister ordinary memory", q.CuMemHostUnregister(page))
	q.ask("register", q.CuMemHostRegister(page, 8192, cu.CU_MEMHOSTREGISTER_PORTABLE))
	q.ask("registered flags", q.CuMemHostGetFlags(&flags, page), flags)
	q.ask("register again", q.CuMemHostRegister(page, 8192, 0))
	q.ask("register what overlaps", q.CuMemHostRegister(unsafe.Add(page, 4096), 8192, 0))
	q.ask("unregister in the middle", q.CuMemHostUnregister(unsafe.Add(page, 4096)))
	q.ask("free of registered memory", q.CuMemFreeHost(page))
	q.ask("unregister", q.CuMemHostUnregister(page))
	q.ask("register with unknown flags", q.CuMemHostRegister(page, 4096, 64))
	q.ask("register nothing", q.CuMemHostRegister(page, 0, 0))
	q.ask("register NULL", q.CuMemHostRegister(nil, 4096, 0))
	q.ask("register read only", q.CuMemHostRegister(page, 4096, cu.CU_MEMHOSTREGISTER_READ_ONLY))
	q.CuMemHostUnregister(page)
	askPointers(q, d)
}

func askPointers(q *questioner, d cu.CUdeviceptr) {
	m := q.managed(4096)
	for a := cu.CUpointer_attribute(1); a <= 22; a++ {
		name := "attribute " + itoa(int(a))
		if text := a.String(); strings.HasPrefix(text, "CU_") {
			name = text
		}
		switch a {
		case cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS, cu.CU_POINTER_ATTRIBUTE_BUFFER_ID, cu.CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID,
			cu.CU_POINTER_ATTRIBUTE_CONTEXT, cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, cu.CU_POINTER_ATTRIBUTE_HOST_POINTER,
			cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, cu.CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
			var v, w [2]uint64
			q.ask(name, q.CuPointerGetAttribute(unsafe.Pointer(&v), a, d))
			q.ask(name+" of managed memory", q.CuPointerGetAttribute(unsafe.Pointer(&w), a, m))
			continue
		}
		var v, w [2]uint64
		q.ask(name, q.CuPointerGetAttribute(unsafe.Pointer(&v), a, d), v[0])
		q.ask(name+" of managed memory", q.CuPointerGetAttribute(unsafe.Pointer(&w), a, m), w[0])
	}
	v := uint32(1)
	at := unsafe.Pointer(&v)
	q.ask("set sync", q.CuPointerSetAttribute(at, cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d))
	q.ask("set another attribute", q.CuPointerSetAttribute(at, cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d))
	q.ask("set sync of nothing", q.CuPointerSetAttribute(at, cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 64))
	q.ask("attribute of nothing", q.CuPointerGetAttribute(at, cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 64))
	q.ask("attribute 0", q.CuPointerGetAttribute(at, 0, d))
	q.ask("attribute 99", q.CuPointerGetAttribute(at, 99, d))
}

func askVirtual(q *questioner) {
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: device0}
	var unit uintptr
	q.ask("granularity", q.CuMemGetAllocationGranularity(&unit, &prop, cu.CU_MEM_ALLOC_GRANULARITY_MINIMUM), unit)
	q.ask("recommended granularity", q.CuMemGetAllocationGranularity(&unit, &prop, cu.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), unit)
	q.ask("granularity 7", q.CuMemGetAllocationGranularity(&unit, &prop, 7))
	q.ask("granularity to NULL", q.CuMemGetAllocationGranularity(nil, &prop, 0))
	for name, change := range map[string]func(p *cu.CUmemAllocationProp){
		"no type": func(p *cu.CUmemAllocationProp) { p.Type = 0 }, "type 9": func(p *cu.CUmemAllocationProp) { p.Type = 9 },
		"device 99": func(p *cu.CUmemAllocationProp) { p.Location.Id = 99 }, "no location": func(p *cu.CUmemAllocationProp) { p.Location.Type = 0 },
		"handle type 64": func(p *cu.CUmemAllocationProp) { p.RequestedHandleTypes = 64 },
	} {
		bad := prop
		change(&bad)
		var g cu.CUmemGenericAllocationHandle
		q.ask("granularity of "+name, q.CuMemGetAllocationGranularity(&unit, &bad, 0))
		q.ask("cuMemCreate with "+name, q.CuMemCreate(&g, 2<<20, &bad, 0))
	}
	var p cu.CUdeviceptr
	unit = 2 << 20
	q.ask("reserve nothing", q.CuMemAddressReserve(&p, 0, 0, 0, 0))
	q.ask("reserve half a unit", q.CuMemAddressReserve(&p, unit/2, 0, 0, 0))
	q.ask("reserve with a flag", q.CuMemAddressReserve(&p, unit, 0, 0, 1))
	q.ask("reserve with alignment 3", q.CuMemAddressReserve(&p, unit, 3, 0, 0))
	var g, other cu.CUmemGenericAllocationHandle
	q.ask("create nothing", q.CuMemCreate(&g, 0, &prop, 0))
	q.ask("create half a unit", q.CuMemCreate(&g, unit/2, &prop, 0))
	q.ask("create with a flag", q.CuMemCreate(&g, unit, &prop, 1))
	q.ask("create without properties", q.CuMemCreate(&g, unit, nil, 0))
	q.ask("create everything", q.CuMemCreate(&g, 1<<50, &prop, 0))
	q.ok(q.CuMemAddressReserve(&p, 2*unit, 0, 0, 0))
	q.ok(q.CuMemCreate(&g, unit, &prop, 0))
	access := cu.CUmemAccessDesc{Location: device0, Flags: cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE}
	var flags uint64
	q.ask("access of what is not mapped", q.CuMemSetAccess(p, unit, &access, 1))
	q.ask("map with an offset", q.CuMemMap(p, unit, 4096, g, 0))
	q.ask("map too much", q.CuMemMap(p, 2*unit, 0, g, 0))
	q.ask("map with a flag", q.CuMemMap(p, unit, 0, g, 1))
	q.ask("map 0", q.CuMemMap(p, unit, 0, 0, 0))
	q.ask("map", q.CuMemMap(p, unit, 0, g, 0))
	q.ask("map again", q.CuMemMap(p, unit, 0, g, 0))
	q.ask("access before it is set", q.CuMemGetAccess(&flags, &device0, p), flags)
	q.ask("access with no descriptions", q.CuMemSetAccess(p, unit, &access, 0))
	q.ask("access of half", q.CuMemSetAccess(p, unit/2, &access, 1))
	q.ask("access", q.CuMemSetAccess(p, unit, &access, 1))
	q.ask("access that was set", q.CuMemGetAccess(&flags, &device0, p), flags)
	q.ask("retain", q.CuMemRetainAllocationHandle(&other, pointerTo(p)), other == g)
	q.ask("release what was retained", q.CuMemRelease(other))
	var got cu.CUmemAllocationProp
	q.ask("properties", q.CuMemGetAllocationPropertiesFromHandle(&got, g), got.Type, got.Location)
	q.ask("properties of 0", q.CuMemGetAllocationPropertiesFromHandle(&got, 0))
	q.ask("unmap half", q.CuMemUnmap(p, unit/2))
	q.ask("give mapped addresses back", q.CuMemAddressFree(p, 2*unit))
	q.ask("free of mapped memory", q.CuMemFree(p))
	q.ask("unmap", q.CuMemUnmap(p, unit))
	q.ask("unmap again", q.CuMemUnmap(p, unit))
	q.ask("release", q.CuMemRelease(g))
	q.ask("release of 0", q.CuMemRelease(0))
	q.ask("give half of the addresses back", q.CuMemAddressFree(p, unit))
	q.ask("give addresses back", q.CuMemAddressFree(p, 2*unit))
	d := q.alloc(4096)
	q.ask("retain ordinary memory", q.CuMemRetainAllocationHandle(&other, pointerTo(d)))
	q.ask("access of ordinary memory", q.CuMemGetAccess(&flags, &device0, d))
}

func askArrays(q *questioner) {
	desc := cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 16, Height: 8, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1}
	var a, plane cu.CUarray
	q.ok(q.CuArray3DCreate(&a, &desc))
	defer q.CuArrayDestroy(a)
	var need cu.CUDA_ARRAY_MEMORY_REQUIREMENTS
	var sparse cu.CUDA_ARRAY_SPARSE_PROPERTIES
	q.ask("requirements", q.CuArrayGetMemoryRequirements(&need, a, q.dev))
	q.ask("requirements of 0", q.CuArrayGetMemoryRequirements(&need, 0, q.dev))
	q.ask("sparse properties", q.CuArrayGetSparseProperties(&sparse, a))
	q.ask("plane", q.CuArrayGetPlane(&plane, a, 0))
	q.ask("descriptor of 0", q.CuArray3DGetDescriptor(&desc, 0))
	q.ask("destroy 0", q.CuArrayDestroy(0))
	for name, change := range map[string]func(d *cu.CUDA_ARRAY3D_DESCRIPTOR){
		"3 channels": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.NumChannels = 3 }, "no width": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.Width = 0 },
		"depth without height": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.Height, d.Depth = 0, 4 }, "format 0x77": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.Format = 0x77 },
		"a huge width": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.Width = 1 << 30 }, "an unknown flag": func(d *cu.CUDA_ARRAY3D_DESCRIPTOR) { d.Flags = 1 << 20 },
	} {
		bad := desc
		change(&bad)
		var b cu.CUarray
		q.ask("create with "+name, q.CuArray3DCreate(&b, &bad))
	}
	var m cu.CUmipmappedArray
	mipped := cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 16, Height: 8, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1}
	err := q.CuMipmappedArrayCreate(&m, &mipped, 2)
	q.ask("cuMipmappedArrayCreate", err)
	if err == nil {
		q.ask("level", q.CuMipmappedArrayGetLevel(&plane, m, 1))
		q.ask("level that is not there", q.CuMipmappedArrayGetLevel(&plane, m, 9))
		q.ask("destroy mipmapped", q.CuMipmappedArrayDestroy(m))
	}
	askBatch3D(q)
}

func askBatch3D(q *questioner) {
	src, dst, s := q.alloc(4096), q.alloc(4096), q.stream()
	op := cu.CUDA_MEMCPY3D_BATCH_OP{SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	op.Extent = cu.CUextent3D{Width: 16, Height: 2, Depth: 1}
	op.Src.Type, op.Dst.Type = cu.CU_MEMCPY_OPERAND_TYPE_POINTER, cu.CU_MEMCPY_OPERAND_TYPE_POINTER
	*op.Src.Op.Ptr() = cu.CUmemcpy3DOperand_v1_Op_Ptr{Ptr: src, RowLength: 32, LocHint: device0}
	*op.Dst.Op.Ptr() = cu.CUmemcpy3DOperand_v1_Op_Ptr{Ptr: dst, LocHint: device0}
	q.ok(q.CuMemsetD8(src, 3, 16))
	q.ok(q.CuMemsetD8(src+32, 4, 16))
	q.ask("batch of 3D copies", q.CuMemcpy3DBatchAsync(1, &op, 0, s))
	q.ask("what it copied", nil, q.read(dst, 9))
	q.ask("batch in the NULL stream", q.CuMemcpy3DBatchAsync(1, &op, 0, 0))
	q.ask("empty batch", q.CuMemcpy3DBatchAsync(0, &op, 0, s))
	q.ask("batch with a flag", q.CuMemcpy3DBatchAsync(1, &op, 1, s))
	fail := uintptr(77)
	q.ask("batch of the old form", q.CuMemcpy3DBatchAsync_v12080(1, &op, &fail, 0, s), fail)
	bad := op
	bad.SrcAccessOrder = 0
	q.ask("batch without access order", q.CuMemcpy3DBatchAsync(1, &bad, 0, s))
	bad = op
	bad.Src.Type = 0
	q.ask("batch without operand type", q.CuMemcpy3DBatchAsync(1, &bad, 0, s))
	bad = op
	bad.Src.Op.Ptr().RowLength = 8
	q.ask("batch with short rows", q.CuMemcpy3DBatchAsync(1, &bad, 0, s))
	bad = op
	bad.Extent.Height = 0
	q.ask("batch of nothing", q.CuMemcpy3DBatchAsync(1, &bad, 0, s))
	q.settle()
}

func pointerTo(p cu.CUdeviceptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
