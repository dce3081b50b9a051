package driver

import (
	"fmt"
	"reflect"
)

// Declared is memory as a kernel's argument together with what the kernel does
// to it: In, Out or InOut around a buffer or a view. The declaration is about
// the parameter: it stays when the argument is replaced by one without any.
type Declared struct {
	Memory
	mode AccessMode
}

// In declares that the kernel only reads the memory of the argument.
func In(m Memory) Declared { return Declared{m, Reads} }

// Out declares that the kernel only writes the memory of the argument.
func Out(m Memory) Declared { return Declared{m, Writes} }

// InOut declares that the kernel reads and writes the memory of the argument,
// which is what is believed of arguments without a declaration.
func InOut(m Memory) Declared { return Declared{m, ReadsWrites} }

// Mode is what was declared.
func (d Declared) Mode() AccessMode { return d.mode }

// String describes the memory and what is done to it.
func (d Declared) String() string { return fmt.Sprintf("%v (%v)", d.Memory, d.mode) }

func (d Declared) span() span {
	if d.Memory == nil {
		return span{}
	}
	return d.Memory.span()
}

var declaredType = reflect.TypeFor[Declared]()

// setDeclared is setFast for declared memory.
func (l *Launch) setDeclared(s *slot, d *Declared) bool {
	m := d.span()
	if !l.setSpan(s, &m) {
		return false
	}
	l.declare(s, d.mode)
	return true
}

// declare notes what the kernel does to the memory of an argument.
func (l *Launch) declare(s *slot, mode AccessMode) {
	s.mode = mode
	if s.mem >= 0 && l.uses[s.mem].Mode != mode {
		l.uses[s.mem].Mode = mode
		l.accesses.change()
	}
}
