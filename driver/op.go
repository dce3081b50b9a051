package driver

import (
	"fmt"
	"reflect"

	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
)

// Op describes one piece of device work: a kernel launch with its arguments bound, a copy, a fill,
// a host function, an event. Stream.Do runs it, or records it if the stream is capturing. Package
// graph creates nodes from it and updates nodes with it. So one description serves direct
// execution, capture, graphs built by hand and updates.
//
// The operations are *Launch, *CopyOp, *FillOp, *HostFunc, *EventOp, *MemOp and *SemaphoreOp, and
// the launch of an executable graph. There are no others.
// Operations that allocate or free are AllocatingOps instead, because a replay of an allocation
// would change its address.
//
// Several goroutines may enqueue an operation concurrently, but not while another changes it
// (SetArg).
type Op interface {
	// Enqueue enqueues the operation in s, as Stream.Do does after its own checks.
	Enqueue(s *Stream) error
	// Context returns the context in which the operation runs.
	Context() *Context
	// Refs returns what the operation refers to, which must outlive its use. The slice belongs to
	// the operation and changes with it: read it, or copy it.
	Refs() []life.Ref
	// Accesses returns the memory accesses of the operation, as far as they are known. The slice
	// belongs to the operation.
	Accesses() []Access
	// String describes the operation for messages and drawings.
	String() string

	op()
}

// OpBase makes a type of package graph that embeds it an operation. Operations of any other type
// can be enqueued in streams, but graphs reject them.
type OpBase struct{}

//lint:ignore U1000 it makes an OpBase an Op
func (OpBase) op() {}

// AllocatingOp is an operation that allocates or frees in stream order. Stream.Allocate runs it.
type AllocatingOp interface {
	// Context returns the context in which the operation runs.
	Context() *Context
	// Refs returns what the operation refers to, which must outlive its use.
	Refs() []life.Ref
	// String describes the operation for messages and drawings.
	String() string

	allocate(s *Stream) error
}

// AccessMode says what an operation does to a range of memory.
type AccessMode uint8

// The modes of access.
const (
	Reads AccessMode = 1 << iota
	Writes
	ReadsWrites = Reads | Writes
)

// String returns "read", "write" or "read and write".
func (m AccessMode) String() string {
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

// checkStream explains why an Enqueue's quick comparison of contexts failed. It returns nil if s is
// a stream of the operation's driver context.
func checkStream(op fmt.Stringer, c *Context, s *Stream) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	if c.sameAs(s.ctx) {
		return nil
	}
	return &invalidError{fmt.Sprintf("%v belongs to %v, but %v to %v", op, c, s, s.ctx)}
}

// Access is memory that an operation reads or writes: a range, or the rows of a box in pitched
// memory. Host and device addresses share one address space.
type Access struct {
	Addr  uint64 // of the first byte
	Bytes uint64 // from the first byte to the last, gaps between rows included
	Mode  AccessMode
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

// Declared is memory together with what an operation does to it: In, Out or InOut around a buffer
// or a view, on the device or page-locked. As a kernel's argument, the declaration belongs to the
// parameter: it remains in effect when the argument is replaced by one without a declaration.
type Declared struct {
	mem  Memory
	mode AccessMode
}

// In declares memory that is only read.
func In(m Memory) Declared { return Declared{m, Reads} }

// Out declares memory that is only written.
func Out(m Memory) Declared { return Declared{m, Writes} }

// InOut declares memory that is read and written, the default for arguments without a declaration.
func InOut(m Memory) Declared { return Declared{m, ReadsWrites} }

// Access returns the access to the whole memory, or why it cannot be used.
func (d Declared) Access() (Access, error) {
	var p place
	_, err := p.locate(d.mem, d.mode)
	return p.access, err
}

// Bytes returns the size in bytes, 0 without memory.
func (d Declared) Bytes() uintptr {
	if d.mem == nil {
		return 0
	}
	return d.mem.Bytes()
}

// Context returns the memory's context, nil without memory.
func (d Declared) Context() *Context {
	if d.mem == nil {
		return nil
	}
	return d.mem.Context()
}

// Ref keeps the memory alive.
func (d Declared) Ref() life.Ref {
	if d.mem == nil {
		return nil
	}
	return d.mem.Ref()
}

func (d Declared) String() string {
	if d.mem == nil {
		return "no memory"
	}
	return fmt.Sprintf("%v (%v)", d.mem, d.mode)
}

func (d Declared) span() span {
	if d.mem == nil {
		return span{}
	}
	return d.mem.span()
}

var declaredType = reflect.TypeFor[Declared]()

// setDeclared is setFast for declared memory.
func (l *Launch) setDeclared(s *launch.Slot, d *Declared) bool {
	m := d.span()
	if !l.setSpan(s, &m) {
		return false
	}
	l.declare(s, d.mode)
	return true
}

// declare records what the kernel does to the memory of an argument.
func (l *Launch) declare(s *launch.Slot, mode AccessMode) {
	s.Mode = uint8(mode)
	if s.Mem >= 0 && l.uses[s.Mem].Mode != mode {
		l.uses[s.Mem].Mode = mode
		l.b.Accesses.Change()
	}
}
