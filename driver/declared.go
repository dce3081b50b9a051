package driver

import (
	"fmt"
	"reflect"

	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
)

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

// String describes the memory and its access.
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
