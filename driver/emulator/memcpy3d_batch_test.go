package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

// batchPointer and batchArray are sides of a copy in a batch.
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

// Extents and offsets count the elements of an array.
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
