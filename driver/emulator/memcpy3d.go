package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

var copy3DFunctions = functions{
	"cuMemcpy2D_v2":          {cuMemcpy2D, current},
	"cuMemcpy2DUnaligned_v2": {cuMemcpy2D, current},
	"cuMemcpy3D_v2":          {cuMemcpy3D, current},
	"cuMemcpy3DPeer":         {cuMemcpy3DPeer, current},
	"cuMemcpy2DAsync_v2":     {cuMemcpy2DAsync, afterInit},
	"cuMemcpy3DAsync_v2":     {cuMemcpy3DAsync, afterInit},
	"cuMemcpy3DPeerAsync":    {cuMemcpy3DPeerAsync, afterInit},
}

func placesPeer(c call, dst, src *transfer.Side) (transfer.Extent, result) {
	p := at[cu.CUDA_MEMCPY3D_PEER](c, 0)
	if p == nil || p.SrcLOD != 0 || p.DstLOD != 0 {
		return transfer.Extent{}, errInvalidValue
	}
	if find[cudaContext](c.e, uintptr(p.SrcContext)) == nil || find[cudaContext](c.e, uintptr(p.DstContext)) == nil {
		return transfer.Extent{}, errInvalidContext
	}
	return transfer.OfPeer(c.e.arrayOf, p, dst, src)
}

func cuMemcpy2D(c call) result {
	var dst, src transfer.Side
	n, r := transfer.Of2D(c.e.arrayOf, at[cu.CUDA_MEMCPY2D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

func cuMemcpy3D(c call) result {
	var dst, src transfer.Side
	n, r := transfer.Of3D(c.e.arrayOf, at[cu.CUDA_MEMCPY3D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

func cuMemcpy3DPeer(c call) result {
	var dst, src transfer.Side
	n, r := placesPeer(c, &dst, &src)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

func cuMemcpy2DAsync(c call) result {
	s, r := streamAt(c, 1)
	if r != success {
		return r
	}
	var dst, src transfer.Side
	n, r := transfer.Of2D(c.e.arrayOf, at[cu.CUDA_MEMCPY2D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyLater(c, s, &dst, &src, n)
}

func cuMemcpy3DAsync(c call) result {
	s, r := streamAt(c, 1)
	if r != success {
		return r
	}
	var dst, src transfer.Side
	n, r := transfer.Of3D(c.e.arrayOf, at[cu.CUDA_MEMCPY3D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyLater(c, s, &dst, &src, n)
}

func cuMemcpy3DPeerAsync(c call) result {
	s, r := streamAt(c, 1)
	if r != success {
		return r
	}
	var dst, src transfer.Side
	n, r := placesPeer(c, &dst, &src)
	if r != success {
		return r
	}
	if s.cap != nil { // observed on driver 580
		return s.cap.invalidate(errUnsupported)
	}
	return copyLater(c, s, &dst, &src, n)
}
