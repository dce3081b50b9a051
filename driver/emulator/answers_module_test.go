package emulator_test

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

func askModules(q *questioner) {
	m := q.module(testPTX)
	f := q.function(m, "add")
	var tex cu.CUtexref
	var surf cu.CUsurfref
	var p cu.CUdeviceptr
	var n uintptr
	var count uint32
	q.ask("texture", q.CuModuleGetTexRef(&tex, m, cstr("nothing")))
	q.ask("texture that is a variable", q.CuModuleGetTexRef(&tex, m, cstr("counter")))
	q.ask("surface", q.CuModuleGetSurfRef(&surf, m, cstr("nothing")))
	q.ask("variable that is another kernel", q.CuModuleGetGlobal(&p, &n, m, cstr("nothing")))
	q.ask("variable to NULL", q.CuModuleGetGlobal(nil, nil, m, cstr("counter")))
	q.ask("variable without a name", q.CuModuleGetGlobal(&p, &n, m, nil))
	q.ask("variable that is a kernel", q.CuModuleGetGlobal(&p, &n, m, cstr("add")))
	q.ask("kernel that is there", q.CuModuleGetFunction(&f, m, cstr("nothing")))
	q.ask("kernel of module 0", q.CuModuleGetFunction(&f, 0, cstr("add")))
	q.ask("kernel to NULL", q.CuModuleGetFunction(nil, m, cstr("add")))
	q.ask("unload 0", q.CuModuleUnload(0))
	q.ask("count", q.CuModuleGetFunctionCount(&count, m), count)
	q.ask("count to NULL", q.CuModuleGetFunctionCount(nil, m))
	fs := make([]cu.CUfunction, count+4)
	q.ask("all and more", q.CuModuleEnumerateFunctions(&fs[0], count+4, m), fs[count] == 0)
	q.ask("none of them", q.CuModuleEnumerateFunctions(&fs[0], 0, m))
	q.ask("them to NULL", q.CuModuleEnumerateFunctions(nil, 1, m))
	f = q.function(m, "add")
	var v int32
	for a := cu.CUfunction_attribute(0); a <= 17; a++ {
		err := q.CuFuncGetAttribute(&v, a, f)
		if a == cu.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES || a == cu.CU_FUNC_ATTRIBUTE_NUM_REGS {
			q.ask("attribute "+itoa(int(a)), err)
			continue
		}
		q.ask("attribute "+itoa(int(a)), err, v)
		q.ask("set attribute "+itoa(int(a)), q.CuFuncSetAttribute(f, a, 1))
	}
	q.ask("set shared memory to -1", q.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1))
	q.ask("set shared memory to 1 MB", q.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1<<20))
	q.ask("set carveout to 101", q.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101))
	q.ask("cache 9", q.CuFuncSetCacheConfig(f, 9))
	q.ask("banks 9", q.CuFuncSetSharedMemConfig(f, 9))
	q.ask("banks of 8 bytes", q.CuFuncSetSharedMemConfig(f, cu.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE))
	var offset, size uintptr
	q.ask("parameter 2", q.CuFuncGetParamInfo(f, 2, &offset, &size), offset, size)
	q.ask("parameter 3", q.CuFuncGetParamInfo(f, 3, &offset, &size))
	q.ask("parameter to NULL", q.CuFuncGetParamInfo(f, 0, nil, nil))
	q.ask("parameter of 0", q.CuFuncGetParamInfo(0, 0, &offset, &size))
	var mode cu.CUmoduleLoadingMode
	q.ask("loading mode", q.CuModuleGetLoadingMode(&mode), uint32(mode))
	askLibraries(q)
}

func askLibraries(q *questioner) {
	image := append([]byte(testPTX), 0)
	var l cu.CUlibrary
	q.ok(q.CuLibraryLoadData(&l, unsafe.Pointer(&image[0]), nil, nil, 0, nil, nil, 0))
	defer q.CuLibraryUnload(l)
	var k cu.CUkernel
	var p cu.CUdeviceptr
	var n uintptr
	var fp unsafe.Pointer
	var count uint32
	q.ask("library: kernel that is there", q.CuLibraryGetKernel(&k, l, cstr("nothing")))
	q.ask("library: variable that is a kernel", q.CuLibraryGetGlobal(&p, &n, l, cstr("nothing")))
	q.ask("library: variable that is there", q.CuLibraryGetGlobal(&p, &n, l, cstr("counter")), n)
	q.ask("library: managed variable", q.CuLibraryGetManaged(&p, &n, l, cstr("nothing")))
	q.ask("library: managed variable that is not", q.CuLibraryGetManaged(&p, &n, l, cstr("counter")))
	q.ask("library: unified function", q.CuLibraryGetUnifiedFunction(&fp, l, cstr("nothing")))
	q.ask("library: unified function that is a kernel", q.CuLibraryGetUnifiedFunction(&fp, l, cstr("add")))
	q.ask("library: count", q.CuLibraryGetKernelCount(&count, l), count)
	q.ask("library: unload 0", q.CuLibraryUnload(0))
	ks := make([]cu.CUkernel, 1)
	q.ask("library: none", q.CuLibraryEnumerateKernels(&ks[0], 0, l))
	q.ok(q.CuLibraryGetKernel(&k, l, cstr("add")))
	var v int32
	q.ask("kernel: attribute 99", q.CuKernelGetAttribute(&v, 99, k, q.dev))
	q.ask("kernel: attribute on device 99", q.CuKernelGetAttribute(&v, 0, k, 99))
	q.ask("kernel: cache 9", q.CuKernelSetCacheConfig(k, 9, q.dev))
	q.ask("kernel: set attribute 0", q.CuKernelSetAttribute(0, 1, k, q.dev))
	var back cu.CUlibrary
	q.ask("kernel: library", q.CuKernelGetLibrary(&back, k), back == l)
	q.ask("kernel: parameter 3", q.CuKernelGetParamInfo(k, 3, &n, nil))
}

func askLaunches(q *questioner) {
	f, p := q.kernel("add"), q.alloc(64)
	at := uint64(p)
	q.ask("block", q.CuFuncSetBlockShape(f, 1, 1, 1))
	q.ask("block of 0", q.CuFuncSetBlockShape(f, 0, 1, 1))
	q.ask("huge block", q.CuFuncSetBlockShape(f, 2048, 1, 1))
	q.ask("block again", q.CuFuncSetBlockShape(f, 1, 1, 1))
	q.ask("shared memory", q.CuFuncSetSharedSize(f, 16))
	q.ask("huge shared memory", q.CuFuncSetSharedSize(f, 1<<20))
	q.ask("shared memory again", q.CuFuncSetSharedSize(f, 0))
	q.ask("parameters", q.CuParamSetSize(f, 16))
	q.ask("too many parameters", q.CuParamSetSize(f, 1<<20))
	q.ask("parameters again", q.CuParamSetSize(f, 16))
	q.ask("pointer", q.CuParamSetv(f, 0, unsafe.Pointer(&at), 8))
	q.ask("word", q.CuParamSeti(f, 8, 1))
	q.ask("float", q.CuParamSetf(f, 12, 1))
	q.ask("word far out", q.CuParamSeti(f, 1<<20, 1))
}

func askStreams(q *questioner) {
	s := q.stream()
	var v cu.CUstreamAttrValue
	for id := cu.CUstreamAttrID(0); id <= 16; id++ {
		v = cu.CUstreamAttrValue{}
		q.ask("attribute "+itoa(int(id)), q.CuStreamGetAttribute(s, id, &v))
	}
	v = cu.CUstreamAttrValue{}
	*v.Priority() = -2
	q.ask("set a priority", q.CuStreamSetAttribute(s, cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v))
	var n int32
	q.ask("priority then", q.CuStreamGetPriority(s, &n), n)
	*v.Priority() = -99
	q.ask("set a huge priority", q.CuStreamSetAttribute(s, cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v))
	v = cu.CUstreamAttrValue{}
	*v.SyncPolicy() = 9
	q.ask("set policy 9", q.CuStreamSetAttribute(s, cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v))
	*v.SyncPolicy() = cu.CU_SYNC_POLICY_SPIN
	q.ask("set a policy", q.CuStreamSetAttribute(s, cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v))
	v = cu.CUstreamAttrValue{}
	q.ask("policy then", q.CuStreamGetAttribute(s, cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v), uint32(*v.SyncPolicy()))
}

func askOccupancy(q *questioner) {
	f := q.kernel("add")
	var blocks, least, size int32
	var free uintptr
	for _, threads := range []int32{-1, 0, 1, 32, 33, 100, 128, 256, 512, 1000, 1024, 1025} {
		q.ask("blocks of "+itoa(int(threads)), q.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, threads, 0), blocks)
		q.ask("blocks with 40 KB of "+itoa(int(threads)), q.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, threads, 40<<10), blocks)
	}
	q.ask("blocks with 1 MB", q.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 1<<20), blocks)
	q.ask("blocks with flags 9", q.CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 32, 0, 9))
	q.ask("blocks to NULL", q.CuOccupancyMaxActiveBlocksPerMultiprocessor(nil, f, 32, 0))
	q.ask("blocks of function 0", q.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, 0, 32, 0))
	q.ask("best block", q.CuOccupancyMaxPotentialBlockSize(&least, &size, f, 0, 0, 0), least, size)
	q.ask("best block up to 100", q.CuOccupancyMaxPotentialBlockSize(&least, &size, f, 0, 0, 100), least, size)
	q.ask("best block with 48 KB", q.CuOccupancyMaxPotentialBlockSize(&least, &size, f, 0, 48<<10, 0), least, size)
	bounded := q.kernel("bounded")
	q.ask("best block of at most 64", q.CuOccupancyMaxPotentialBlockSize(&least, &size, bounded, 0, 0, 0), least, size)
	q.ask("blocks of more than allowed", q.CuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0), blocks)
	for _, n := range []int32{0, 1, 2, 3, 8, 32, 33} {
		q.ask("shared memory of "+itoa(int(n))+" blocks", q.CuOccupancyAvailableDynamicSMemPerBlock(&free, f, n, 32), free)
	}
	q.ask("shared memory of blocks of 0", q.CuOccupancyAvailableDynamicSMemPerBlock(&free, f, 1, 0))
	cfg := cu.CUlaunchConfig{GridDimX: 64, GridDimY: 1, GridDimZ: 1, BlockDimX: 128, BlockDimY: 1, BlockDimZ: 1}
	q.ask("clusters without size", q.CuOccupancyMaxActiveClusters(&blocks, f, &cfg), blocks)
	q.ask("largest cluster", q.CuOccupancyMaxPotentialClusterSize(&size, f, &cfg), size)
	attr := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}
	cfg.Attrs, cfg.NumAttrs = &attr, 1
	for _, n := range []uint32{1, 2, 4, 8, 16, 3, 0} {
		*attr.Value.ClusterDim() = cu.CUlaunchAttributeValue_ClusterDim{X: n, Y: 1, Z: 1}
		q.ask("clusters of "+itoa(int(n)), q.CuOccupancyMaxActiveClusters(&blocks, f, &cfg))
	}
	q.ok(q.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
	cfg.Attrs, cfg.NumAttrs = nil, 0
	q.ask("largest cluster if not portable", q.CuOccupancyMaxPotentialClusterSize(&size, f, &cfg), size)
	q.ask("largest cluster to NULL", q.CuOccupancyMaxPotentialClusterSize(nil, f, &cfg))
	q.ask("largest cluster without configuration", q.CuOccupancyMaxPotentialClusterSize(&size, f, nil))
}

func askLogs(q *questioner) {
	var at cu.CUlogIterator
	q.ask("current", q.CuLogsCurrent(&at, 0))
	q.ask("current with flags", q.CuLogsCurrent(&at, 1))
	q.ask("current to NULL", q.CuLogsCurrent(nil, 0))
	var text [32768]byte
	size := uintptr(len(text))
	q.ask("dump after the last", q.CuLogsDumpToMemory(&at, &text[0], &size, 0))
	q.ask("a call that fails", q.CuMemAlloc(nil, 4))
	size = uintptr(len(text))
	q.ask("dump", q.CuLogsDumpToMemory(&at, &text[0], &size, 0))
	size = uintptr(len(text))
	q.ask("dump after that", q.CuLogsDumpToMemory(&at, &text[0], &size, 0), size)
	size = 4
	q.ask("dump to 4 bytes", q.CuLogsDumpToMemory(nil, &text[0], &size, 0))
	size = uintptr(len(text))
	q.ask("dump with flags", q.CuLogsDumpToMemory(nil, &text[0], &size, 1))
	q.ask("dump to NULL", q.CuLogsDumpToMemory(nil, nil, &size, 0))
	q.ask("dump to no file", q.CuLogsDumpToFile(nil, nil, 0))
	q.ask("dump to a file that cannot be", q.CuLogsDumpToFile(nil, cstr("/nowhere/at/all"), 0))
	var h cu.CUlogsCallbackHandle
	q.ask("register no function", q.CuLogsRegisterCallback(0, nil, &h))
	err := q.CuLogsRegisterCallback(cu.CUlogsCallback(loader.NewCallback(func(uintptr) {})), nil, &h)
	q.ask("register", err, h != 0)
	if err == nil {
		q.ask("unregister", q.CuLogsUnregisterCallback(h))
	}
	q.ask("unregister 0", q.CuLogsUnregisterCallback(0))
}

func askSharing(q *questioner) {
	p := q.alloc(2 << 20)
	var mem cu.CUipcMemHandle
	var ev cu.CUipcEventHandle
	var e cu.CUevent
	q.ask("cuIpcGetMemHandle of allocated memory", q.CuIpcGetMemHandle(&mem, p))
	q.ask("cuIpcGetMemHandle of an invalid address", q.CuIpcGetMemHandle(&mem, 64))
	q.ask("cuIpcOpenMemHandle of a zero handle", q.CuIpcOpenMemHandle(&p, cu.CUipcMemHandle{}, 1))
	q.ask("cuIpcCloseMemHandle of memory that was not opened", q.CuIpcCloseMemHandle(64))
	q.ask("cuIpcGetEventHandle of an event without CU_EVENT_INTERPROCESS", q.CuIpcGetEventHandle(&ev, q.event(cu.CU_EVENT_DISABLE_TIMING)))
	if q.CuEventCreate(&e, uint32(cu.CU_EVENT_DISABLE_TIMING|cu.CU_EVENT_INTERPROCESS)) == nil {
		q.ask("cuIpcGetEventHandle of an event with CU_EVENT_INTERPROCESS", q.CuIpcGetEventHandle(&ev, e))
		q.ok(q.CuEventDestroy(e))
	}
	q.ask("cuIpcOpenEventHandle of a zero handle", q.CuIpcOpenEventHandle(&e, cu.CUipcEventHandle{}))
	d := q.alloc(2 << 20)
	var fd int32
	q.ask("cuMemGetHandleForAddressRange as a DMA-BUF", q.CuMemGetHandleForAddressRange(unsafe.Pointer(&fd), d, 2<<20, cu.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0))
	var pool cu.CUmemoryPool
	q.ok(q.CuDeviceGetDefaultMemPool(&pool, q.dev))
	q.ask("cuMemPoolExportToShareableHandle of the default pool", q.CuMemPoolExportToShareableHandle(unsafe.Pointer(&fd), pool, cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
	var data cu.CUmemPoolPtrExportData
	q.ask("cuMemPoolExportPointer of memory that is not from a pool", q.CuMemPoolExportPointer(&data, d))
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: device0}
	var g cu.CUmemGenericAllocationHandle
	q.ok(q.CuMemCreate(&g, 2<<20, &prop, 0))
	q.ask("cuMemExportToShareableHandle of memory without a handle type", q.CuMemExportToShareableHandle(unsafe.Pointer(&fd), g, cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
	q.ask("cuMemExportToShareableHandle with handle type 0", q.CuMemExportToShareableHandle(unsafe.Pointer(&fd), g, 0, 0))
	q.ok(q.CuMemRelease(g))
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: device0, HandleTypes: cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}
	err := q.CuMemPoolCreate(&pool, &props)
	q.ask("cuMemPoolCreate with a file descriptor as handle type", err)
	if err == nil {
		q.ok(q.CuMemPoolDestroy(pool))
	}
	prop.RequestedHandleTypes = cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	err = q.CuMemCreate(&g, 2<<20, &prop, 0)
	q.ask("cuMemCreate with a file descriptor as handle type", err)
	if err == nil {
		q.ok(q.CuMemRelease(g))
	}
}

func askTextures(q *questioner) {
	p := q.alloc(4096)
	desc := cu.CUDA_RESOURCE_DESC{ResType: cu.CU_RESOURCE_TYPE_LINEAR}
	desc.Res.Linear().DevPtr, desc.Res.Linear().Format = p, cu.CU_AD_FORMAT_FLOAT
	desc.Res.Linear().NumChannels, desc.Res.Linear().SizeInBytes = 1, 4096
	var tex cu.CUtexObject
	err := q.CuTexObjectCreate(&tex, &desc, &cu.CUDA_TEXTURE_DESC{}, nil)
	q.ask("cuTexObjectCreate of linear memory", err)
	if err == nil {
		q.ask("end of an object", q.CuTexObjectDestroy(tex))
	}
	q.ask("cuTexObjectCreate without a resource", q.CuTexObjectCreate(&tex, nil, &cu.CUDA_TEXTURE_DESC{}, nil))
	var surf cu.CUsurfObject
	q.ask("cuSurfObjectCreate of linear memory", q.CuSurfObjectCreate(&surf, &desc))
	var ref cu.CUtexref
	err = q.CuTexRefCreate(&ref)
	q.ask("cuTexRefCreate", err)
	if err == nil {
		q.ask("end of a reference", q.CuTexRefDestroy(ref))
	}
	var m [2]cu.CUtensorMap
	dim, stride, box, step := [2]uint64{16, 16}, [1]uint64{64}, [2]uint32{16, 16}, [2]uint32{1, 1}
	aligned := (*cu.CUtensorMap)(unsafe.Pointer((uintptr(unsafe.Pointer(&m)) + 63) &^ 63))
	q.ask("cuTensorMapEncodeTiled", q.CuTensorMapEncodeTiled(aligned, cu.CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, &dim[0], &stride[0], &box[0], &step[0], 0, 0, 0, 0))
}
