package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
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

// operand is one side of a CUDA_MEMCPY2D or CUDA_MEMCPY3D.
type operand struct {
	kind          cu.CUmemorytype
	host          unsafe.Pointer
	device        cu.CUdeviceptr
	array         cu.CUarray
	pitch, height uintptr
	x, y, z       uintptr
}

// place checks the operand and stores its location in p.
func (o *operand) place(e *Emulator, p *place, n extent) result {
	*p = place{pitch: uint64(o.pitch), height: uint64(o.height), x: uint64(o.x), y: uint64(o.y), z: uint64(o.z)}
	switch o.kind {
	case cu.CU_MEMORYTYPE_HOST:
		p.host = o.host
	case cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_UNIFIED:
		p.addr = uint64(o.device)
	case cu.CU_MEMORYTYPE_ARRAY:
		a := find[array](e, uintptr(o.array))
		if a == nil {
			return errInvalidHandle
		}
		a.place(p)
	default:
		return errInvalidValue
	}
	if p.host == nil && p.addr == 0 && n.bytes() != 0 {
		return errInvalidValue
	}
	if p.pitch == 0 {
		p.pitch = p.x + n.width
	}
	if p.height == 0 {
		p.height = p.y + n.height
	}
	if p.x+n.width > p.pitch || (n.depth > 1 && p.y+n.height > p.height) {
		return errInvalidValue
	}
	return success
}

func places2D(e *Emulator, p *cu.CUDA_MEMCPY2D, dst, src *place) (extent, result) {
	if p == nil {
		return extent{}, errInvalidValue
	}
	n := extent{uint64(p.WidthInBytes), uint64(p.Height), 1}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, 0, p.SrcXInBytes, p.SrcY, 0}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, 0, p.DstXInBytes, p.DstY, 0}
	if r := from.place(e, src, n); r != success {
		return n, r
	}
	return n, to.place(e, dst, n)
}

func places3D(e *Emulator, p *cu.CUDA_MEMCPY3D, dst, src *place) (extent, result) {
	if p == nil || p.SrcLOD != 0 || p.DstLOD != 0 || p.Reserved0 != nil || p.Reserved1 != nil {
		return extent{}, errInvalidValue
	}
	n := extent{uint64(p.WidthInBytes), uint64(p.Height), uint64(p.Depth)}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, p.SrcHeight, p.SrcXInBytes, p.SrcY, p.SrcZ}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, p.DstHeight, p.DstXInBytes, p.DstY, p.DstZ}
	if r := from.place(e, src, n); r != success {
		return n, r
	}
	return n, to.place(e, dst, n)
}

func placesPeer(c call, dst, src *place) (extent, result) {
	e, p := c.e, at[cu.CUDA_MEMCPY3D_PEER](c, 0)
	if p == nil || p.SrcLOD != 0 || p.DstLOD != 0 {
		return extent{}, errInvalidValue
	}
	if find[cudaContext](c.e, uintptr(p.SrcContext)) == nil || find[cudaContext](c.e, uintptr(p.DstContext)) == nil {
		return extent{}, errInvalidContext
	}
	n := extent{uint64(p.WidthInBytes), uint64(p.Height), uint64(p.Depth)}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, p.SrcHeight, p.SrcXInBytes, p.SrcY, p.SrcZ}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, p.DstHeight, p.DstXInBytes, p.DstY, p.DstZ}
	if r := from.place(e, src, n); r != success {
		return n, r
	}
	return n, to.place(e, dst, n)
}

func cuMemcpy2D(c call) result {
	var dst, src place
	n, r := places2D(c.e, at[cu.CUDA_MEMCPY2D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

func cuMemcpy3D(c call) result {
	var dst, src place
	n, r := places3D(c.e, at[cu.CUDA_MEMCPY3D](c, 0), &dst, &src)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

func cuMemcpy3DPeer(c call) result {
	var dst, src place
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
	var dst, src place
	n, r := places2D(c.e, at[cu.CUDA_MEMCPY2D](c, 0), &dst, &src)
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
	var dst, src place
	n, r := places3D(c.e, at[cu.CUDA_MEMCPY3D](c, 0), &dst, &src)
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
	var dst, src place
	n, r := placesPeer(c, &dst, &src)
	if r != success {
		return r
	}
	if s.cap != nil { // observed on driver 580
		return s.cap.invalidate(errUnsupported)
	}
	return copyLater(c, s, &dst, &src, n)
}
