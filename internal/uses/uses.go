// Package uses describes what an operation uses: the objects it refers to, the memory it reads and
// writes, and the parameters of its graph node. Package driver fills it in. Package graph retains the
// objects and derives edges.
package uses

import "github.com/purecuda/cuda/internal/life"

// Set is what an operation uses. What it points to belongs to the operation and changes with it:
// read it, or copy it.
type Set struct {
	Refs     []life.Ref // must outlive the use of the operation
	Accesses []Access   // as far as they are known

	// Node points to the parameters of a graph node, a struct of package cu: a copy's are a
	// *cu.CUDA_MEMCPY3D. For a host function it is the *hostcall.Call, for a free the address. It is
	// nil for kernel launches, which graphs read from their Block, and for launches of graphs.
	Node any
}

// Mode says what an operation does to a range of memory.
type Mode uint8

// The modes of access.
const (
	Reads Mode = 1 << iota
	Writes
	ReadsWrites = Reads | Writes
)

// String returns "read", "write" or "read and write".
func (m Mode) String() string {
	switch m {
	case Reads:
		return "read"
	case Writes:
		return "write"
	case ReadsWrites:
		return "read and write"
	}
	return "no access"
}

// Access is memory that an operation reads or writes: a range, or the rows of a box in pitched
// memory. Host and device addresses share one address space.
type Access struct {
	Addr  uint64 // of the first byte
	Bytes uint64 // from the first byte to the last, gaps between rows included
	Mode  Mode
	Host  bool   // page-locked host memory
	Arg   int32  // the operand's index; of a kernel, the argument's
	What  string // which operand: "destination", a parameter's name
	Rows  *Rows  // the accessed part of the range; nil: every byte. It does not change
}

// Rows is a box in memory: Layers × Count rows of Width bytes each. The first row begins at the
// access's address.
type Rows struct {
	Width  uint64
	Pitch  uint64 // from one row to the next
	Count  uint64 // rows in a layer
	Layer  uint64 // from one layer to the next
	Layers uint64
}

// Overlaps reports whether a and b share a byte that at least one of them writes.
func (a Access) Overlaps(b Access) bool {
	if (a.Mode|b.Mode)&Writes == 0 {
		return false
	}
	_, _, both := a.Common(b)
	return both
}

// Common returns the first range of bytes that belongs to both accesses, whatever their modes. It
// is exact for boxes too.
func (a Access) Common(b Access) (from, to uint64, ok bool) {
	switch {
	case a.Bytes == 0 || b.Bytes == 0 || a.Addr >= b.Addr+b.Bytes || b.Addr >= a.Addr+a.Bytes:
		return 0, 0, false
	case a.Rows == nil:
		return b.within(a.Addr, a.Addr+a.Bytes)
	case b.Rows == nil:
		return a.within(b.Addr, b.Addr+b.Bytes)
	case a.Rows.Count*a.Rows.Layers > b.Rows.Count*b.Rows.Layers:
		a, b = b, a
	}
	return b.withinBox(a)
}

// within returns the first range of the access between two addresses.
func (a *Access) within(lo, hi uint64) (from, to uint64, ok bool) {
	if a.Rows == nil {
		return a.piece(a.Addr, a.Bytes, lo, hi)
	}
	r := a.Rows
	for z := firstAfter(a.Addr, (r.Count-1)*r.Pitch+r.Width, r.Layer, lo); z < r.Layers; z++ {
		layer := a.Addr + z*r.Layer
		if layer >= hi {
			break
		}
		if y := firstAfter(layer, r.Width, r.Pitch, lo); y < r.Count {
			if from, to, ok = a.piece(layer+y*r.Pitch, r.Width, lo, hi); ok {
				return from, to, true
			}
		}
	}
	return 0, 0, false
}

// withinBox is within for each row of a box.
func (a *Access) withinBox(box Access) (from, to uint64, ok bool) {
	r := box.Rows
	for z := range r.Layers {
		for y := range r.Count {
			row := box.Addr + z*r.Layer + y*r.Pitch
			if from, to, ok = a.within(row, row+r.Width); ok {
				return from, to, true
			}
		}
	}
	return 0, 0, false
}

// firstAfter returns the index of the first of many equal pieces, step apart, that ends after addr.
func firstAfter(start, size, step, addr uint64) uint64 {
	if start+size > addr || step == 0 {
		return 0
	}
	return (addr-start-size)/step + 1
}

func (*Access) piece(start, size, lo, hi uint64) (from, to uint64, ok bool) {
	from, to = max(start, lo), min(start+size, hi)
	return from, to, from < to
}

// SetRows makes a an access to a box: layers of rows, each row width bytes long. A box without gaps
// becomes a range. pitch and layer are the bytes from one row and from one layer to the next.
func (a *Access) SetRows(width, pitch, rows, layer, layers uintptr) {
	if a == nil {
		return
	}
	a.Bytes, a.Rows = 0, nil
	if width == 0 || rows == 0 || layers == 0 {
		return
	}
	if width == pitch || rows == 1 { // a layer is in one piece
		width, pitch, rows, layer, layers = (rows-1)*pitch+width, layer, layers, 0, 1
	}
	a.Bytes = uint64((layers-1)*layer + (rows-1)*pitch + width)
	if rows == 1 && layers == 1 || layers == 1 && width == pitch {
		return
	}
	a.Rows = &Rows{uint64(width), uint64(pitch), uint64(rows), uint64(layer), uint64(layers)}
}
