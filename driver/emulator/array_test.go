package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

func TestArraysAreCopied(t *testing.T) {
	r := newRig(t)
	p := r.alloc(64)
	var a cu.CUarray
	r.ok(r.CuArrayCreate(&a, &cu.CUDA_ARRAY_DESCRIPTOR{Width: 4, Height: 2, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1}))
	in := []uint32{1, 2, 3, 4, 5, 6, 7, 8}
	r.ok(r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_HOST, SrcHost: unsafe.Pointer(&in[0]), SrcPitch: 16,
		DstMemoryType: cu.CU_MEMORYTYPE_ARRAY, DstArray: a, WidthInBytes: 16, Height: 2,
	}))
	r.ok(r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_ARRAY, SrcArray: a, SrcXInBytes: 4, SrcY: 0,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p, DstPitch: 8, WidthInBytes: 8, Height: 2,
	}))
	r.wantWords("part of the array", p, 2, 3, 6, 7)
	var d cu.CUDA_ARRAY_DESCRIPTOR
	r.ok(r.CuArrayGetDescriptor(&d, a))
	if d.Width != 4 || d.Height != 2 {
		t.Errorf("descriptor %+v", d)
	}
	r.ok(r.CuArrayDestroy(a))
	r.want("no width", r.CuArrayCreate(&a, &cu.CUDA_ARRAY_DESCRIPTOR{Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1}), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("three channels", r.CuArrayCreate(&a, &cu.CUDA_ARRAY_DESCRIPTOR{Width: 4, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 3}), cu.CUDA_ERROR_INVALID_VALUE)
}

func TestMappedMemory(t *testing.T) {
	r := newRig(t)
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED}
	prop.Location = cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE}
	var unit uintptr
	r.ok(r.CuMemGetAllocationGranularity(&unit, &prop, 0))
	var p cu.CUdeviceptr
	r.ok(r.CuMemAddressReserve(&p, 2*unit, 0, 0, 0))
	var a, b cu.CUmemGenericAllocationHandle
	r.ok(r.CuMemCreate(&a, unit, &prop, 0))
	r.ok(r.CuMemCreate(&b, unit, &prop, 0))
	r.ok(r.CuMemMap(p, unit, 0, a, 0))
	r.ok(r.CuMemMap(p+cu.CUdeviceptr(unit), unit, 0, b, 0))
	access := cu.CUmemAccessDesc{Location: prop.Location, Flags: cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE}
	r.ok(r.CuMemSetAccess(p, 2*unit, &access, 1))
	edge := p + cu.CUdeviceptr(unit) - 4
	r.ok(r.CuMemsetD32(edge, 5, 2))
	r.wantWords("over the edge of two mappings", edge, 5, 5)
	r.ok(r.launch(r.kernel("add"), 0, edge, 1, 2))
	r.wantWords("kernel", edge, 5, 7)
	r.want("size that is no multiple", r.CuMemCreate(&a, 100, &prop, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("free", r.CuMemFree(p), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemUnmap(p, 2*unit))
	r.want("use after the unmapping", r.CuMemsetD32(edge, 5, 2), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemRelease(a))
	r.ok(r.CuMemRelease(b))
	r.ok(r.CuMemAddressFree(p, 2*unit))
}
