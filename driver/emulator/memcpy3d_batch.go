package emulator

import "github.com/purecuda/cuda/driver/cu"

var copyBatch3DFunctions = functions{
	"cuMemcpy3DBatchAsync":    {cuMemcpy3DBatchAsyncV1, afterInit},
	"cuMemcpy3DBatchAsync_v2": {cuMemcpy3DBatchAsyncV2, afterInit},
}

// cuMemcpy3DBatchAsyncV1 also took a pointer for the index of the copy that failed.
func cuMemcpy3DBatchAsyncV1(c call) result {
	failed := at[uintptr](c, 2)
	if failed != nil {
		*failed = ^uintptr(0)
	}
	return copyBatch3D(c, 3, failed)
}

func cuMemcpy3DBatchAsyncV2(c call) result { return copyBatch3D(c, 2, nil) }

// copyBatch3D reads (count, copies) and, from flagsArg on, flags and stream.
func copyBatch3D(c call, flagsArg int, failed *uintptr) result {
	ops := list[cu.CUDA_MEMCPY3D_BATCH_OP](c, 1, int(c.Word(0)))
	s, r := streamAt(c, flagsArg+1)
	switch {
	case r != success:
		return r
	case ops == nil || c.Uint64(flagsArg) != 0 || s.isLegacy():
		return errInvalidValue
	case s.cap != nil:
		return errNotSupported
	}
	pairs := make([]copyOp, len(ops))
	for i := range ops {
		if r := pairs[i].read3D(c.e, &ops[i]); r != success {
			if failed != nil {
				*failed = uintptr(i)
			}
			return r
		}
	}
	for i := range pairs {
		enqueueCopy(s, &pairs[i].dst, &pairs[i].src, pairs[i].extent)
	}
	return success
}

// read3D checks one copy of a batch.
func (op *copyOp) read3D(e *Emulator, b *cu.CUDA_MEMCPY3D_BATCH_OP) result {
	if b.SrcAccessOrder < cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || b.SrcAccessOrder > cu.CU_MEMCPY_SRC_ACCESS_ORDER_ANY {
		return errInvalidValue
	}
	unit := max(elementOf(e, &b.Src), elementOf(e, &b.Dst))
	op.extent = extent{uint64(b.Extent.Width) * unit, uint64(b.Extent.Height), uint64(b.Extent.Depth)}
	if op.extent.bytes() == 0 {
		return errInvalidValue
	}
	if r := op.src.read3D(e, &b.Src, op.extent, unit); r != success {
		return r
	}
	if r := op.dst.read3D(e, &b.Dst, op.extent, unit); r != success {
		return r
	}
	return e.checkCopy(&op.dst, &op.src, op.extent)
}

// elementOf returns the size of the unit in which a side counts extents and offsets: the element of
// an array, or a byte of memory.
func elementOf(e *Emulator, o *cu.CUmemcpy3DOperand) uint64 {
	if o.Type == cu.CU_MEMCPY_OPERAND_TYPE_ARRAY {
		if a := find[array](e, uintptr(o.Op.Array().Array)); a != nil {
			return a.element()
		}
	}
	return 1
}

// read3D converts one side of a copy.
func (p *place) read3D(e *Emulator, o *cu.CUmemcpy3DOperand, n extent, unit uint64) result {
	from := operand{kind: cu.CU_MEMORYTYPE_DEVICE}
	switch o.Type {
	case cu.CU_MEMCPY_OPERAND_TYPE_POINTER:
		at := o.Op.Ptr()
		from.device, from.pitch, from.height = at.Ptr, at.RowLength*uintptr(unit), at.LayerHeight
	case cu.CU_MEMCPY_OPERAND_TYPE_ARRAY:
		at := o.Op.Array()
		from.kind, from.array = cu.CU_MEMORYTYPE_ARRAY, at.Array
		from.x, from.y, from.z = at.Offset.X*uintptr(unit), at.Offset.Y, at.Offset.Z
	default:
		return errInvalidValue
	}
	return from.place(e, p, n)
}
