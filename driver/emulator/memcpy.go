package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/transfer"

var copyFunctions = functions{
	"cuMemcpy":              {cuMemcpy, current},
	"cuMemcpyHtoD_v2":       {cuMemcpyHtoD, current},
	"cuMemcpyDtoH_v2":       {cuMemcpyDtoH, current},
	"cuMemcpyDtoD_v2":       {cuMemcpyDtoD, current},
	"cuMemcpyPeer":          {cuMemcpyPeer, current},
	"cuMemcpyAsync":         {cuMemcpyAsync, afterInit},
	"cuMemcpyHtoDAsync_v2":  {cuMemcpyHtoDAsync, afterInit},
	"cuMemcpyDtoHAsync_v2":  {cuMemcpyDtoHAsync, afterInit},
	"cuMemcpyDtoDAsync_v2":  {cuMemcpyDtoDAsync, afterInit},
	"cuMemcpyPeerAsync":     {cuMemcpyPeerAsync, afterInit},
	"cuMemcpyBatchAsync":    {cuMemcpyBatchAsyncV1, afterInit},
	"cuMemcpyBatchAsync_v2": {cuMemcpyBatchAsyncV2, afterInit},
}

// missing reports whether either side of a non-empty copy is NULL.
func missing(c call, i, j int, n uint64) bool { return n != 0 && (c.Word(i) == 0 || c.Word(j) == 0) }

func cuMemcpyHtoD(c call) result {
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Host(c.Ptr(1))
	return copyNow(c, &dst, &src, transfer.Line(n))
}

func cuMemcpyDtoH(c call) result {
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Host(c.Ptr(0)), transfer.Device(c.Uint64(1))
	return copyNow(c, &dst, &src, transfer.Line(n))
}

func cuMemcpyDtoD(c call) result {
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(1))
	return copyNow(c, &dst, &src, transfer.Line(n))
}

// cuMemcpy infers the kind of both sides from the addresses. Pageable host memory must be passed to
// the functions that take a pointer.
func cuMemcpy(c call) result { return cuMemcpyDtoD(c) }

func cuMemcpyPeer(c call) result {
	n := c.Uint64(4)
	if missing(c, 0, 2, n) {
		return errInvalidValue
	}
	if handleAt[cudaContext](c, 1) == nil || handleAt[cudaContext](c, 3) == nil {
		return errInvalidContext
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(2))
	return copyNow(c, &dst, &src, transfer.Line(n))
}

func cuMemcpyHtoDAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Host(c.Ptr(1))
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

func cuMemcpyDtoHAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Host(c.Ptr(0)), transfer.Device(c.Uint64(1))
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

func cuMemcpyDtoDAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := c.Uint64(2)
	if missing(c, 0, 1, n) {
		return errInvalidValue
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(1))
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

func cuMemcpyAsync(c call) result { return cuMemcpyDtoDAsync(c) }

func cuMemcpyPeerAsync(c call) result {
	s, r := streamAt(c, 5)
	if r != success {
		return r
	}
	n := c.Uint64(4)
	if missing(c, 0, 2, n) {
		return errInvalidValue
	}
	if handleAt[cudaContext](c, 1) == nil || handleAt[cudaContext](c, 3) == nil {
		return errInvalidContext
	}
	if s.cap != nil { // observed on driver 580
		return s.cap.invalidate(errUnsupported)
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(2))
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

// cuMemcpyBatchAsyncV1 also took a pointer for the index of the copy that failed.
func cuMemcpyBatchAsyncV1(c call) result {
	return copyBatch(c, 8, at[uintptr](c, 7))
}

func cuMemcpyBatchAsyncV2(c call) result { return copyBatch(c, 7, nil) }

// copyBatch makes the copies one after the other. The attributes are hints about order, and the
// order of a single queue always satisfies them.
func copyBatch(c call, streamArg int, failed *uintptr) result {
	n := int(c.Word(3))
	dsts, srcs, sizes := list[uint64](c, 0, n), list[uint64](c, 1, n), list[uintptr](c, 2, n)
	if n == 0 || dsts == nil || srcs == nil || sizes == nil || c.Ptr(4) == nil || c.Word(6) == 0 {
		return errInvalidValue
	}
	s, r := streamAt(c, streamArg)
	switch {
	case r != success:
		return r
	case s.isLegacy() || s.cap != nil:
		return errNotSupported
	}
	for i := range n {
		dst, src := transfer.Device(dsts[i]), transfer.Device(srcs[i])
		if r := c.e.checkCopy(&dst, &src, transfer.Line(uint64(sizes[i]))); r != success {
			if failed != nil {
				*failed = uintptr(i)
			}
			return r
		}
	}
	for i := range n {
		dst, src := transfer.Device(dsts[i]), transfer.Device(srcs[i])
		enqueueCopy(s, &dst, &src, transfer.Line(uint64(sizes[i])))
	}
	return success
}
