package driver

import (
	"fmt"
	"reflect"
)

// Declared is a kernel's memory argument together with what the kernel does to it: In, Out or InOut
// around a buffer or a view. The declaration belongs to the parameter. It remains in effect when
// the argument is replaced by one without a declaration.
type Declared struct {
	Memory
	mode AccessMode
}

// In declares that the kernel only reads the memory.
func In(m Memory) Declared { return Declared{m, Reads} }

// Out declares that the kernel only writes the memory.
func Out(m Memory) Declared { return Declared{m, Writes} }

// InOut declares that the kernel reads and writes the memory, which is the default for arguments
// without a declaration.
func InOut(m Memory) Declared { return Declared{m, ReadsWrites} }

// Mode returns the declared access.
func (d Declared) Mode() AccessMode { return d.mode }

// Bytes returns the size in bytes, 0 without memory.
func (d Declared) Bytes() uintptr { return d.span().bytes }

// Ptr returns the device address, 0 without memory.
func (d Declared) Ptr() CUdeviceptr { return d.span().ptr }

// Context returns the memory's context, nil without memory.
func (d Declared) Context() *Context { return d.span().context() }

// Ref keeps the memory alive.
func (d Declared) Ref() Ref { return d.span().ref() }

// String describes the memory and its access.
func (d Declared) String() string {
	if d.Memory == nil {
		return "no memory"
	}
	return fmt.Sprintf("%v (%v)", d.Memory, d.mode)
}

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

// declare records what the kernel does to the memory of an argument.
func (l *Launch) declare(s *slot, mode AccessMode) {
	s.mode = mode
	if s.mem >= 0 && l.uses[s.mem].Mode != mode {
		l.uses[s.mem].Mode = mode
		l.accesses.change()
	}
}
