package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
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
	var widest int32
	r.ok(r.CuDeviceGetAttribute(&widest, cu.CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, r.dev))
	r.ok(r.CuArrayCreate(&a, &cu.CUDA_ARRAY_DESCRIPTOR{Width: uintptr(widest), Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1}))
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
	r.want("size that is not a multiple", r.CuMemCreate(&a, 100, &prop, 0), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("free", r.CuMemFree(p), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemUnmap(p, 2*unit))
	r.want("use after the unmapping", r.CuMemsetD32(edge, 5, 2), cu.CUDA_ERROR_INVALID_VALUE)
	r.ok(r.CuMemRelease(a))
	r.ok(r.CuMemRelease(b))
	r.ok(r.CuMemAddressFree(p, 2*unit))
}

func batchPointer(p cu.CUdeviceptr) (o cu.CUmemcpy3DOperand) {
	o.Type = cu.CU_MEMCPY_OPERAND_TYPE_POINTER
	*o.Op.Ptr() = cu.CUmemcpy3DOperand_v1_Op_Ptr{Ptr: p, LocHint: device0}
	return o
}

func batchArray(a cu.CUarray, x, y uintptr) (o cu.CUmemcpy3DOperand) {
	o.Type = cu.CU_MEMCPY_OPERAND_TYPE_ARRAY
	*o.Op.Array() = cu.CUmemcpy3DOperand_v1_Op_Array{Array: a, Offset: cu.CUoffset3D{X: x, Y: y}}
	return o
}

func TestABatchCopiesIntoAndOutOfAnArray(t *testing.T) {
	r := newRig(t)
	p, back, s := r.alloc(64), r.alloc(16), r.stream()
	var a cu.CUarray
	r.ok(r.CuArrayCreate(&a, &cu.CUDA_ARRAY_DESCRIPTOR{Width: 4, Height: 4, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1}))
	defer r.CuArrayDestroy(a)
	for i := range 16 {
		r.ok(r.CuMemsetD32(p+cu.CUdeviceptr(4*i), uint32(i), 1))
	}
	r.settle()
	in := cu.CUDA_MEMCPY3D_BATCH_OP{Src: batchPointer(p), Dst: batchArray(a, 0, 0), SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	in.Extent = cu.CUextent3D{Width: 4, Height: 4, Depth: 1}
	out := cu.CUDA_MEMCPY3D_BATCH_OP{Src: batchArray(a, 1, 2), Dst: batchPointer(back), SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	out.Extent = cu.CUextent3D{Width: 2, Height: 2, Depth: 1}
	r.ok(r.CuMemcpy3DBatchAsync(1, &in, 0, s))
	r.ok(r.CuMemcpy3DBatchAsync(1, &out, 0, s))
	r.wantWords("a part of the array", back, 9, 10, 13, 14)
}

func TestABatchThatFailsCopiesNothing(t *testing.T) {
	r := newRig(t)
	src, dst, s := r.alloc(16), r.alloc(16), r.stream()
	r.ok(r.CuMemsetD32(src, 7, 4))
	r.settle()
	ops := make([]cu.CUDA_MEMCPY3D_BATCH_OP, 2)
	for i := range ops {
		ops[i] = cu.CUDA_MEMCPY3D_BATCH_OP{Src: batchPointer(src), Dst: batchPointer(dst), SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
		ops[i].Extent = cu.CUextent3D{Width: 16, Height: 1, Depth: 1}
	}
	ops[1].Extent.Width = 0
	failed := uintptr(9)
	r.want("second of nothing", r.CuMemcpy3DBatchAsync_v12080(2, &ops[0], &failed, 0, s), cu.CUDA_ERROR_INVALID_VALUE)
	r.wantWords("the first", dst, 0, 0)
	if !onGPU && failed != 1 {
		t.Errorf("copy %d failed", failed)
	}
}

func TestABatchOfCopiesCopiesEach(t *testing.T) {
	r := newRig(t)
	src, dst, s := r.alloc(32), r.alloc(32), r.stream()
	for i := range 8 {
		r.ok(r.CuMemsetD32(src+cu.CUdeviceptr(4*i), uint32(10+i), 1))
	}
	r.settle()
	dsts, srcs := []cu.CUdeviceptr{dst + 16, dst, dst + 28}, []cu.CUdeviceptr{src, src + 16, src + 12}
	sizes := []uintptr{8, 12, 4}
	attrs := cu.CUmemcpyAttributes{SrcAccessOrder: cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}
	var first uintptr
	r.ok(r.CuMemcpyBatchAsync(&dsts[0], &srcs[0], &sizes[0], 3, &attrs, &first, 1, s))
	r.ok(r.CuStreamSynchronize(s))
	r.wantWords("the copies", dst, 14, 15, 16, 0, 10, 11, 0, 13)
}

// Which direction a copy counts for must depend on the address of its first byte, not on the base
// address of its rows.
func TestStatisticsOfCopiesGoByTheAddress(t *testing.T) {
	r := newRigWith(t, emulator.Config{})
	if r.emu == nil {
		t.Skip("about the emulator's statistics")
	}
	p, h := r.alloc(4096), r.pinned(4096)
	before := r.emu.Stats()
	r.ok(r.CuMemcpy2D(&cu.CUDA_MEMCPY2D{
		SrcMemoryType: cu.CU_MEMORYTYPE_UNIFIED, SrcDevice: r.device(h), SrcPitch: 1024, SrcY: 3, SrcXInBytes: 512,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p, DstPitch: 512, WidthInBytes: 512, Height: 1,
	}))
	after := r.emu.Stats()
	if n := after.HostToDevice.Bytes - before.HostToDevice.Bytes; n != 512 {
		t.Errorf("%d bytes went from the host to the device: %+v", n, after)
	}
}
