package emulator_test

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

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
	q.ask("memory to others", q.CuIpcGetMemHandle(&mem, p))
	q.ask("memory that is none", q.CuIpcGetMemHandle(&mem, 64))
	q.ask("memory from nobody", q.CuIpcOpenMemHandle(&p, cu.CUipcMemHandle{}, 1))
	q.ask("close what was not opened", q.CuIpcCloseMemHandle(64))
	q.ask("plain event to others", q.CuIpcGetEventHandle(&ev, q.event(cu.CU_EVENT_DISABLE_TIMING)))
	if q.CuEventCreate(&e, uint32(cu.CU_EVENT_DISABLE_TIMING|cu.CU_EVENT_INTERPROCESS)) == nil {
		q.ask("event to others", q.CuIpcGetEventHandle(&ev, e))
		q.ok(q.CuEventDestroy(e))
	}
	q.ask("event from nobody", q.CuIpcOpenEventHandle(&e, cu.CUipcEventHandle{}))
	d := q.alloc(2 << 20)
	var fd int32
	q.ask("range as a file", q.CuMemGetHandleForAddressRange(unsafe.Pointer(&fd), d, 2<<20, cu.CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0))
	var pool cu.CUmemoryPool
	q.ok(q.CuDeviceGetDefaultMemPool(&pool, q.dev))
	q.ask("default pool to others", q.CuMemPoolExportToShareableHandle(unsafe.Pointer(&fd), pool, cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
	var data cu.CUmemPoolPtrExportData
	q.ask("memory of no pool to others", q.CuMemPoolExportPointer(&data, d))
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: device0}
	var g cu.CUmemGenericAllocationHandle
	q.ok(q.CuMemCreate(&g, 2<<20, &prop, 0))
	q.ask("physical memory to others", q.CuMemExportToShareableHandle(unsafe.Pointer(&fd), g, cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
	q.ask("physical memory as nothing", q.CuMemExportToShareableHandle(unsafe.Pointer(&fd), g, 0, 0))
	q.ok(q.CuMemRelease(g))
	props := cu.CUmemPoolProps{AllocType: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: device0, HandleTypes: cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}
	err := q.CuMemPoolCreate(&pool, &props)
	q.ask("pool for others", err)
	if err == nil {
		q.ok(q.CuMemPoolDestroy(pool))
	}
	prop.RequestedHandleTypes = cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	err = q.CuMemCreate(&g, 2<<20, &prop, 0)
	q.ask("physical memory for others", err)
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
	q.ask("object", err)
	if err == nil {
		q.ask("end of an object", q.CuTexObjectDestroy(tex))
	}
	q.ask("object from NULL", q.CuTexObjectCreate(&tex, nil, &cu.CUDA_TEXTURE_DESC{}, nil))
	var surf cu.CUsurfObject
	q.ask("surface from linear memory", q.CuSurfObjectCreate(&surf, &desc))
	var ref cu.CUtexref
	err = q.CuTexRefCreate(&ref)
	q.ask("reference", err)
	if err == nil {
		q.ask("end of a reference", q.CuTexRefDestroy(ref))
	}
	var m [2]cu.CUtensorMap
	dim, stride, box, step := [2]uint64{16, 16}, [1]uint64{64}, [2]uint32{16, 16}, [2]uint32{1, 1}
	aligned := (*cu.CUtensorMap)(unsafe.Pointer((uintptr(unsafe.Pointer(&m)) + 63) &^ 63))
	q.ask("tensor map", q.CuTensorMapEncodeTiled(aligned, cu.CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, &dim[0], &stride[0], &box[0], &step[0], 0, 0, 0, 0))
}
