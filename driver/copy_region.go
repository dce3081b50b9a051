package driver

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Region is a box in memory that consists of rows and layers of rows: one end of a 2D or 3D copy.
// Only Memory and Pitch are required. For an Array, Pitch and Rows are ignored.
type Region struct {
	Memory Memory
	Pitch  uintptr // bytes from one row to the next
	Rows   uintptr // rows from one layer to the next; for 3D copies

	X        uintptr // where the box begins: bytes into the row,
	Y, Layer uintptr // rows, layers
}

// Copy2D copies height rows of width bytes.
func Copy2D(dst, src Region, width, height uintptr) (*CopyOp, error) {
	return newRegionCopy("2D copy", dst, src, width, height, 1)
}

// Copy3D copies depth layers of height rows of width bytes.
func Copy3D(dst, src Region, width, height, depth uintptr) (*CopyOp, error) {
	return newRegionCopy("3D copy", dst, src, width, height, depth)
}

func newRegionCopy(what string, dst, src Region, width, height, depth uintptr) (*CopyOp, error) {
	o := &CopyOp{kind: copyRegion}
	d, err := dst.open(width, height, depth, Writes)
	if err != nil {
		return nil, fmt.Errorf("%s: destination: %w", what, err)
	}
	s, err := src.open(width, height, depth, Reads)
	if err != nil {
		return nil, fmt.Errorf("%s: source: %w", what, err)
	}
	if err := d.ctx.sameDriver(s.ctx, s); err != nil {
		return nil, fmt.Errorf("%s: source: %w", what, err)
	}
	if o.bytes, err = product(width, height, depth); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	o.ctx = d.ctx
	if d.kind == cu.CU_MEMORYTYPE_HOST && s.kind != cu.CU_MEMORYTYPE_HOST {
		o.ctx = s.ctx // a copy to the host runs where the data is
	}
	p := &o.params
	p.WidthInBytes, p.Height, p.Depth = width, height, depth
	p.DstArray, p.SrcArray = d.array, s.array
	p.DstMemoryType, p.DstDevice, p.DstHost, p.DstPitch, p.DstHeight = d.kind, d.dev, d.host, d.pitch, d.rows
	p.DstXInBytes, p.DstY, p.DstZ = dst.X, dst.Y, dst.Layer
	p.SrcMemoryType, p.SrcDevice, p.SrcHost, p.SrcPitch, p.SrcHeight = s.kind, s.dev, s.host, s.pitch, s.rows
	p.SrcXInBytes, p.SrcY, p.SrcZ = src.X, src.Y, src.Layer
	if d.kind == cu.CU_MEMORYTYPE_DEVICE && s.kind == cu.CU_MEMORYTYPE_DEVICE && !d.ctx.sameAs(s.ctx) {
		p.DstMemoryType, p.SrcMemoryType = cu.CU_MEMORYTYPE_UNIFIED, cu.CU_MEMORYTYPE_UNIFIED
	}
	o.bind(d.end, s.end)
	return o, nil
}

// place is a checked Region.
type place struct {
	end
	kind  cu.CUmemorytype
	ctx   *Context
	dev   CUdeviceptr
	host  unsafe.Pointer
	array CUarray
	pitch uintptr
	rows  uintptr
}

// String describes the memory for messages.
func (p place) String() string {
	return fmt.Sprintf("memory %#x (%d bytes)", p.access.Addr, p.access.Bytes)
}

// open finds the region's memory and checks that the box lies within it.
func (r *Region) open(width, height, depth uintptr, mode AccessMode) (place, error) {
	p := place{pitch: r.Pitch, rows: r.Rows}
	for _, n := range []uintptr{r.Pitch, r.Rows, r.X, r.Y, r.Layer, width, height, depth} {
		if n > maxBytes/2 { // so that sums of two are exact
			return p, invalidf("%d bytes, rows or layers do not fit the address space", n)
		}
	}
	if a, ok := r.Memory.(*Array); ok {
		return a.open(r, width, height, depth, mode)
	}
	if p.rows == 0 {
		p.rows = r.Y + height
	}
	size, err := p.locate(r.Memory, mode)
	if err != nil {
		return p, err
	}
	if err := r.fits(size, p.rows, width, height, depth); err != nil {
		return p, err
	}
	p.access.Addr += uint64(((r.Layer*p.rows)+r.Y)*r.Pitch + r.X)
	p.access.SetRows(width, r.Pitch, height, p.rows*r.Pitch, depth)
	return p, nil
}

func (p *place) locate(m Memory, mode AccessMode) (size uintptr, err error) {
	if d, ok := m.(Declared); ok {
		m = d.mem
	}
	if h, ok := m.(hostMemory); ok {
		s := h.hostSpan()
		if err := s.check(); err != nil {
			return 0, err
		}
		p.kind, p.ctx, p.host, p.end = cu.CU_MEMORYTYPE_HOST, s.a.ctx, s.ptr, s.end(mode)
		return s.bytes, nil
	}
	if m == nil {
		return 0, nilError("memory")
	}
	s, err := spanOf(m)
	if err != nil {
		return 0, err
	}
	p.kind, p.ctx, p.dev, p.end = cu.CU_MEMORYTYPE_DEVICE, s.a.ctx, s.ptr, s.end(mode)
	return s.bytes, nil
}

// fits compares the box's last byte with the size of the memory.
func (r *Region) fits(size, rows, width, height, depth uintptr) error {
	if width == 0 || height == 0 || depth == 0 {
		return nil
	}
	if r.X+width > r.Pitch {
		return invalidf("a row of %d bytes at byte %d does not fit the pitch of %d bytes", width, r.X, r.Pitch)
	}
	if depth > 1 && r.Y+height > rows {
		return invalidf("%d rows at row %d do not fit a layer of %d rows", height, r.Y, rows)
	}
	lastRow, err := product(r.Layer+depth-1, rows, 1)
	if err != nil {
		return err
	}
	lastRow += r.Y + height - 1 // at most twice maxBytes: exact
	before, err := product(lastRow, r.Pitch, 1)
	if err != nil {
		return err
	}
	if need := before + r.X + width; need > size || need < before {
		return invalidf("the box of %d × %d × %d ends at byte %d, but the memory has %d bytes", width, height, depth, need, size)
	}
	return nil
}

func product(a, b, c uintptr) (uintptr, error) {
	hi, ab := bits.Mul64(uint64(a), uint64(b))
	hi2, abc := bits.Mul64(ab, uint64(c))
	if hi != 0 || hi2 != 0 || abc > uint64(maxBytes) {
		return 0, invalidf("%d × %d × %d bytes do not fit the address space", a, b, c)
	}
	return uintptr(abc), nil
}
