// Package transfer copies and fills memory. From any of CUDA's copy descriptors, it locates both
// sides of the copy, and it moves the bytes. It does not handle streams or check whether a program
// is allowed to make a copy.
package transfer

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Side is one side of a copy: memory with a pitch, a height and an origin. Exactly one of Host,
// Staged and Addr identifies the memory.
type Side struct {
	Host   unsafe.Pointer // pageable memory that belongs to the program
	Staged []byte         // memory that belongs to the driver, copied from the program's memory during the call
	Addr   uint64         // address of device memory or page-locked memory

	Pitch, Height uint64 // bytes per row and rows per slice
	X, Y, Z       uint64 // origin in bytes, rows and slices
}

// Extent is the size of a copy.
type Extent struct{ Width, Height, Depth uint64 }

// Bytes returns the number of bytes to copy.
func (n Extent) Bytes() uint64 { return n.Width * n.Height * n.Depth }

// Dense reports whether the extent is contiguous in p's memory.
func (n Extent) Dense(p *Side) bool {
	return (n.Height <= 1 || p.Pitch == n.Width) && (n.Depth <= 1 || p.Pitch*p.Height == n.Width*n.Height)
}

// Offset returns the byte offset of row y in slice z of the extent.
func (p *Side) Offset(y, z uint64) uint64 {
	return (p.Z+z)*p.Pitch*p.Height + (p.Y+y)*p.Pitch + p.X
}

// Span returns the number of bytes from the side's base to the end of the extent.
func (p *Side) Span(n Extent) uint64 { return p.Offset(n.Height-1, n.Depth-1) + n.Width }

// Row returns n bytes at an offset. It returns false if the side is an address and the bytes are
// not in one region.
func (p *Side) Row(mem *vm.Memory, off, n uint64) ([]byte, bool) {
	switch {
	case p.Host != nil:
		return unsafe.Slice((*byte)(unsafe.Add(p.Host, off)), n), true
	case p.Staged != nil:
		return p.Staged[off : off+n], true
	}
	b, err := mem.Bytes(p.Addr+off, n)
	return b, err == nil
}

// Copy copies from src to dst. It returns false if memory is missing. It does not retain the sides,
// so they may be on the caller's stack.
func Copy(mem *vm.Memory, dst, src *Side, n Extent) bool {
	if n.Bytes() == 0 {
		return true
	}
	if n.Dense(dst) && n.Dense(src) {
		n = Extent{n.Bytes(), 1, 1}
	}
	for z := range n.Depth {
		for y := range n.Height {
			d, okDst := dst.Row(mem, dst.Offset(y, z), n.Width)
			s, okSrc := src.Row(mem, src.Offset(y, z), n.Width)
			switch {
			case okDst && okSrc:
				copy(d, s)
			case !copyPieces(mem, dst, src, dst.Offset(y, z), src.Offset(y, z), n.Width):
				return false
			}
		}
	}
	return true
}

// copyPieces copies a row that spans several mappings on at least one side.
func copyPieces(mem *vm.Memory, dst, src *Side, to, from, n uint64) bool {
	row, ok := src.Row(mem, from, n)
	if !ok {
		row = make([]byte, n)
		if mem.Read(row, src.Addr+from) != nil {
			return false
		}
	}
	if d, ok := dst.Row(mem, to, n); ok {
		copy(d, row)
		return true
	}
	return mem.Write(dst.Addr+to, row) == nil
}

// Stage copies the contents of p into driver memory and makes p refer to the copy.
func (p *Side) Stage(n Extent) {
	if n.Bytes() == 0 {
		return
	}
	b := make([]byte, n.Bytes())
	staged := Side{Staged: b, Pitch: n.Width, Height: n.Height}
	Copy(nil, &staged, p, n)
	*p = staged
}

// Flat reports whether the extent is one-dimensional.
func (n Extent) Flat() bool { return n.Height <= 1 && n.Depth <= 1 }

// Host returns one side of a one-dimensional copy in the program's pageable memory.
func Host(p unsafe.Pointer) Side { return Side{Host: p, Height: 1} }

// Device returns one side of a one-dimensional copy at a device address.
func Device(addr uint64) Side { return Side{Addr: addr, Height: 1} }

// Null reports whether the side is a null pointer.
func (p *Side) Null() bool { return p.Host == nil && p.Staged == nil && p.Addr == 0 }

// Line returns the extent of a one-dimensional copy.
func Line(n uint64) Extent { return Extent{n, 1, 1} }

// operand is one side of a CUDA_MEMCPY2D or CUDA_MEMCPY3D.
type operand struct {
	kind          cu.CUmemorytype
	host          unsafe.Pointer
	device        cu.CUdeviceptr
	array         cu.CUarray
	pitch, height uintptr
	x, y, z       uintptr
}

// place stores the location of the operand in p. It returns an error if the operand is invalid.
func (o *operand) place(find Arrays, p *Side, n Extent) cu.CUresult {
	*p = Side{Pitch: uint64(o.pitch), Height: uint64(o.height), X: uint64(o.x), Y: uint64(o.y), Z: uint64(o.z)}
	switch o.kind {
	case cu.CU_MEMORYTYPE_HOST:
		p.Host = o.host
	case cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_UNIFIED:
		p.Addr = uint64(o.device)
	case cu.CU_MEMORYTYPE_ARRAY:
		a := find(o.array)
		if a == nil {
			return cu.CUDA_ERROR_INVALID_HANDLE
		}
		a.place(p)
	default:
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	if p.Host == nil && p.Addr == 0 && n.Bytes() != 0 {
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	if p.Pitch == 0 {
		p.Pitch = p.X + n.Width
	}
	if p.Height == 0 {
		p.Height = p.Y + n.Height
	}
	if p.X+n.Width > p.Pitch || (n.Depth > 1 && p.Y+n.Height > p.Height) {
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	return cu.CUDA_SUCCESS
}

// Of2D stores the sides of a two-dimensional copy in dst and src. It returns the copy's extent.
func Of2D(find Arrays, p *cu.CUDA_MEMCPY2D, dst, src *Side) (Extent, cu.CUresult) {
	if p == nil {
		return Extent{}, cu.CUDA_ERROR_INVALID_VALUE
	}
	n := Extent{uint64(p.WidthInBytes), uint64(p.Height), 1}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, 0, p.SrcXInBytes, p.SrcY, 0}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, 0, p.DstXInBytes, p.DstY, 0}
	if r := from.place(find, src, n); r != cu.CUDA_SUCCESS {
		return n, r
	}
	return n, to.place(find, dst, n)
}

// Of3D stores the sides of a three-dimensional copy in dst and src. It returns the copy's extent.
func Of3D(find Arrays, p *cu.CUDA_MEMCPY3D, dst, src *Side) (Extent, cu.CUresult) {
	if p == nil || p.SrcLOD != 0 || p.DstLOD != 0 || p.Reserved0 != nil || p.Reserved1 != nil {
		return Extent{}, cu.CUDA_ERROR_INVALID_VALUE
	}
	n := Extent{uint64(p.WidthInBytes), uint64(p.Height), uint64(p.Depth)}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, p.SrcHeight, p.SrcXInBytes, p.SrcY, p.SrcZ}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, p.DstHeight, p.DstXInBytes, p.DstY, p.DstZ}
	if r := from.place(find, src, n); r != cu.CUDA_SUCCESS {
		return n, r
	}
	return n, to.place(find, dst, n)
}

// OfPeer is like Of3D, for a copy between contexts. The caller must check the contexts.
func OfPeer(find Arrays, p *cu.CUDA_MEMCPY3D_PEER, dst, src *Side) (Extent, cu.CUresult) {
	n := Extent{uint64(p.WidthInBytes), uint64(p.Height), uint64(p.Depth)}
	from := operand{p.SrcMemoryType, p.SrcHost, p.SrcDevice, p.SrcArray, p.SrcPitch, p.SrcHeight, p.SrcXInBytes, p.SrcY, p.SrcZ}
	to := operand{p.DstMemoryType, p.DstHost, p.DstDevice, p.DstArray, p.DstPitch, p.DstHeight, p.DstXInBytes, p.DstY, p.DstZ}
	if r := from.place(find, src, n); r != cu.CUDA_SUCCESS {
		return n, r
	}
	return n, to.place(find, dst, n)
}

// OfBatch is like Of3D, for one copy in a batch.
func OfBatch(find Arrays, b *cu.CUDA_MEMCPY3D_BATCH_OP, dst, src *Side) (Extent, cu.CUresult) {
	if b.SrcAccessOrder < cu.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || b.SrcAccessOrder > cu.CU_MEMCPY_SRC_ACCESS_ORDER_ANY {
		return Extent{}, cu.CUDA_ERROR_INVALID_VALUE
	}
	unit := max(elementOf(find, &b.Src), elementOf(find, &b.Dst))
	n := Extent{uint64(b.Extent.Width) * unit, uint64(b.Extent.Height), uint64(b.Extent.Depth)}
	if n.Bytes() == 0 {
		return n, cu.CUDA_ERROR_INVALID_VALUE
	}
	if r := src.read3D(find, &b.Src, n, unit); r != cu.CUDA_SUCCESS {
		return n, r
	}
	return n, dst.read3D(find, &b.Dst, n, unit)
}

// elementOf returns the unit, in bytes, of a side's extents and offsets: the element size for an
// array, and 1 for other memory.
func elementOf(find Arrays, o *cu.CUmemcpy3DOperand) uint64 {
	if o.Type == cu.CU_MEMCPY_OPERAND_TYPE_ARRAY {
		if a := find(o.Op.Array().Array); a != nil {
			return a.Element()
		}
	}
	return 1
}

// read3D stores in p the side that o describes. unit is the unit, in bytes, of o's lengths and
// offsets along x.
func (p *Side) read3D(find Arrays, o *cu.CUmemcpy3DOperand, n Extent, unit uint64) cu.CUresult {
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
		return cu.CUDA_ERROR_INVALID_VALUE
	}
	return from.place(find, p, n)
}

// formatSize returns the size of one channel in bytes, or 0 if the format does not store channels
// separately.
func formatSize(f cu.CUarray_format) uint64 {
	switch f {
	case cu.CU_AD_FORMAT_UNSIGNED_INT8, cu.CU_AD_FORMAT_SIGNED_INT8:
		return 1
	case cu.CU_AD_FORMAT_UNSIGNED_INT16, cu.CU_AD_FORMAT_SIGNED_INT16, cu.CU_AD_FORMAT_HALF:
		return 2
	case cu.CU_AD_FORMAT_UNSIGNED_INT32, cu.CU_AD_FORMAT_SIGNED_INT32, cu.CU_AD_FORMAT_FLOAT:
		return 4
	}
	return 0
}

// KnownFormat reports whether CUDA defines the format.
func KnownFormat(f cu.CUarray_format) bool {
	return !strings.HasPrefix(f.String(), "CUarray_format(")
}

// Array is the memory of a CUDA array. Its rows of elements are densely packed.
type Array struct {
	Addr uint64
	Desc cu.CUDA_ARRAY3D_DESCRIPTOR
}

// Arrays returns the array that belongs to a handle, or nil if there is none.
type Arrays func(cu.CUarray) *Array

// Element returns the size of an element in bytes.
func (a *Array) Element() uint64 { return formatSize(a.Desc.Format) * uint64(a.Desc.NumChannels) }

// Pitch returns the size of a row in bytes.
func (a *Array) Pitch() uint64 { return uint64(a.Desc.Width) * a.Element() }

// place makes p describe the array's memory. It keeps p's origin.
func (a *Array) place(p *Side) {
	p.Addr, p.Pitch, p.Height = a.Addr, a.Pitch(), max(uint64(a.Desc.Height), 1)
}

// Fill writes n elements of 1, 2 or 4 bytes each. It returns false if memory is missing.
func Fill(mem *vm.Memory, addr uint64, value uint32, element, n uint64) bool {
	b, err := mem.Bytes(addr, n*element)
	if err != nil { // the range spans several mappings, or memory is missing
		b = make([]byte, n*element)
		repeat(b, value, element)
		return mem.Write(addr, b) == nil
	}
	repeat(b, value, element)
	return true
}

func repeat(b []byte, value uint32, element uint64) {
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], value)
	n := copy(b, word[:element])
	for n < len(b) {
		n += copy(b[n:], b[:n])
	}
}
