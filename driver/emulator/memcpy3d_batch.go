package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

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
		op := &pairs[i]
		var r result
		if op.extent, r = transfer.OfBatch(c.e.arrayOf, &ops[i], &op.dst, &op.src); r == success {
			r = c.e.checkCopy(&op.dst, &op.src, op.extent)
		}
		if r != success {
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
