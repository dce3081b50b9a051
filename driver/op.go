package driver

import (
	"fmt"
	"reflect"

	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// Op describes one piece of device work. [Stream.Do] runs it, or records it in a capture. Package
// graph creates nodes from it and updates them.
//
// The only operations are *Launch, *CopyOp, *FillOp, *HostFunc, *EventOp, *MemOp, *SemaphoreOp, and
// the launch of an executable graph. [AllocOp] and [FreeOp] do not implement Op, because each
// replay would change the allocation's address. Several goroutines may enqueue an operation
// concurrently, but not while another goroutine changes it ([SetArg]). Except for HostFunc and
// EventOp, Enqueue makes at most one driver call and does not allocate. Slices and node parameters
// that methods return change with it.
type Op interface {
	// Enqueue enqueues the operation in s. Stream.Do calls it after its own checks.
	Enqueue(s *Stream) error
	Context() *Context // the context in which the operation runs
	// Uses returns the objects that the operation refers to, and its memory accesses as far as they
	// are known. The objects must stay alive while the operation is in use. The slices belong to
	// the operation and change with it, so do not modify them, and copy them if you keep them.
	Uses() uses.Set
	String() string // a description for messages and drawings
}

// AccessMode is the kind of a memory access: reading, writing or both.
type AccessMode = uses.Mode

// The modes of memory access.
const (
	Reads       AccessMode = uses.Reads
	Writes      AccessMode = uses.Writes
	ReadsWrites AccessMode = uses.ReadsWrites
)

// checkStream returns an error if s is closed or belongs to a driver context other than c's.
// Another Context for the same driver context is allowed.
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
// memory. Host and device addresses share one address space. The methods Overlaps and Common
// compare two accesses.
type Access = uses.Access

// Declared is memory with a declared access mode: [In], [Out] or [InOut] of a buffer or view. The
// mode belongs to the kernel's parameter. It stays in effect if the argument is later set to memory
// without a declared mode.
type Declared struct {
	mem  Memory
	mode AccessMode
}

// In declares that a kernel only reads the memory.
func In(m Memory) Declared { return Declared{m, Reads} }

// Out declares that a kernel only writes the memory.
func Out(m Memory) Declared { return Declared{m, Writes} }

// InOut declares that a kernel reads and writes the memory. It is the default.
func InOut(m Memory) Declared { return Declared{m, ReadsWrites} }

// Access returns the access to the whole memory, or an error if unusable.
func (d Declared) Access() (Access, error) {
	var p place
	_, err := p.locate(d.mem, d.mode)
	return p.access, err
}

// Bytes returns the size in bytes.
func (d Declared) Bytes() uintptr {
	if d.mem == nil {
		return 0
	}
	return d.mem.Bytes()
}

// Context returns the memory's context.
func (d Declared) Context() *Context {
	if d.mem == nil {
		return nil
	}
	return d.mem.Context()
}

// Ref returns a reference that keeps the memory alive.
func (d Declared) Ref() life.Ref {
	if d.mem == nil {
		return nil
	}
	return d.mem.Ref()
}

// String describes the memory and its mode.
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

func (d Declared) elemSize() uintptr {
	if d.mem == nil {
		return 0
	}
	return d.mem.elemSize()
}

var declaredType = reflect.TypeFor[Declared]()

func (l *Launch) setDeclared(s *launch.Slot, d *Declared) bool {
	m := d.span()
	if s.Size > addressSize {
		return false // the elements may have a different size than before
	}
	if !l.setSpan(s, &m) {
		return false
	}
	l.declare(s, d.mode)
	return true
}

func (l *Launch) declare(s *launch.Slot, mode AccessMode) {
	s.Mode = uint8(mode)
	if s.Mem >= 0 && l.uses[s.Mem].Mode != mode {
		l.uses[s.Mem].Mode = mode
		l.b.Accesses.Change()
	}
}
