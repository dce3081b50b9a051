// Package uses describes the objects to which an operation refers, the memory that it reads and
// writes, and the parameters of its graph node. Package driver fills in the description. Package
// graph retains the objects and derives edges from the memory accesses.
package uses

import "github.com/purecuda/cuda/internal/life"

// Set describes the objects and memory that an operation uses. The operation owns everything that
// the Set points to, and may change it. Read it immediately or copy it.
type Set struct {
	Refs     []life.Ref // objects that must outlive the use of the operation
	Accesses []Access   // all known memory accesses

	// Node points to the parameters of a graph node, which is a struct of package cu. For a copy,
	// it is a *cu.CUDA_MEMCPY3D. For a host function it is the *hostcall.Call, and for a free the
	// address. It is nil for graph launches, and for kernel launches, whose parameters graphs read
	// from the Block.
	Node any
}

// Mode is the kind of access to a range of memory.
type Mode uint8

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

// Access is memory that an operation reads or writes: a range of bytes, or the rows of a box in
// pitched memory. Host and device addresses share one address space.
type Access struct {
	Addr  uint64 // address of the first byte
	Bytes uint64 // number of bytes from the first accessed byte to the last, including gaps between rows
	Mode  Mode
	Host  bool   // page-locked host memory
	Arg   int32  // index of the operand, or of the kernel argument
	What  string // name of the operand, such as "destination", or of the kernel parameter
	Rows  *Rows  // accessed part of the range, which must not be changed; nil if every byte is accessed
}

// Rows describes a box in memory: Layers × Count rows of Width bytes each. The first row begins at
// the address of the Access.
type Rows struct {
	Width  uint64
	Pitch  uint64 // number of bytes from one row to the next
	Count  uint64 // rows per layer
	Layer  uint64 // number of bytes from one layer to the next
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

// Common returns the first range of bytes that both accesses contain, whatever their modes. Gaps
// between the rows of a box do not count.
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

// within returns the first range of accessed bytes from lo to hi, exclusive.
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

// withinBox returns the first range of accessed bytes that is within a row of box.
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

// firstAfter returns the index of the first piece that ends after addr. Piece i begins at
// start+i*step and has size bytes.
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

// SetRows makes a an access to a box of the given number of layers, each with rows of width bytes.
// A box without gaps becomes a range. pitch is the number of bytes from one row to the next. layer
// is the number of bytes from one layer to the next.
func (a *Access) SetRows(width, pitch, rows, layer, layers uintptr) {
	if a == nil {
		return
	}
	a.Bytes, a.Rows = 0, nil
	if width == 0 || rows == 0 || layers == 0 {
		return
	}
	if width == pitch || rows == 1 { // each layer is contiguous
		width, pitch, rows, layer, layers = (rows-1)*pitch+width, layer, layers, 0, 1
	}
	a.Bytes = uint64((layers-1)*layer + (rows-1)*pitch + width)
	if rows == 1 && layers == 1 || layers == 1 && width == pitch {
		return
	}
	a.Rows = &Rows{uint64(width), uint64(pitch), uint64(rows), uint64(layer), uint64(layers)}
}
