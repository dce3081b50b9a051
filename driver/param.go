package driver

import (
	"fmt"
	"sync"

	"github.com/purecuda/cuda/ptx"
)

// Param is one parameter of a kernel.
type Param struct {
	Name    string  // as the PTX names it, "" for a kernel loaded as binary
	Type    string  // ".u64", ".b8[12]"; "" where only the size is known
	Size    uintptr // in bytes
	Offset  uintptr // in the kernel's parameter space
	Align   uintptr
	Pointer bool // the PTX says .ptr

	class paramClass
}

// paramClass says how to interpret a parameter's bits.
type paramClass uint8

const (
	classAny   paramClass = iota // nothing: loaded as binary
	classInt                     // .u and .s types
	classFloat                   // .f types
	classBits                    // .b types
	classBytes                   // arrays: structs passed by value
)

// String returns the parameter as error messages show it.
func (p Param) String() string {
	if p.Name == "" {
		return p.typeName()
	}
	return p.Name + " " + p.typeName()
}

func (p Param) typeName() string {
	if p.Type == "" {
		return fmt.Sprintf("%d bytes", p.Size)
	}
	return p.Type
}

// paramsFrom converts the parameters of a signature.
func (c *program) paramsFrom(s *ptx.Signature) []Param {
	n := len(s.Params)
	if len(c.params) < n {
		c.params = make([]Param, max(n, min(4*(len(c.kernels)+1), mostKernels*4)))
	}
	params := c.params[:n:n]
	c.params = c.params[n:]
	for i, p := range s.Params {
		params[i] = Param{
			Name: p.Name, Type: c.paramType(p), Size: uintptr(p.Size), Offset: uintptr(p.Offset),
			Align: uintptr(p.Align), Pointer: p.Kind == ptx.ParamPointer, class: classOf(p),
		}
	}
	return params
}

// aggregate describes the type of an array parameter.
type aggregate struct {
	of  ptx.Type
	len int64
}

func (c *program) paramType(p ptx.Param) string {
	t := dotted()[p.Type]
	if p.Kind != ptx.ParamAggregate {
		return t
	}
	a := aggregate{p.Type, p.Len}
	name, known := c.aggregates[a]
	if !known {
		if c.aggregates == nil {
			c.aggregates = make(map[aggregate]string)
		}
		name = fmt.Sprintf("%s[%d]", t, p.Len)
		c.aggregates[a] = name
	}
	return name
}

// dotted holds the names of types as PTX writes them.
var dotted = sync.OnceValue(func() *[256]string {
	names := new([256]string)
	for i := range names {
		names[i] = "." + ptx.Type(i).String()
	}
	return names
})

func classOf(p ptx.Param) paramClass {
	if p.Kind == ptx.ParamAggregate || p.Size > p.Type.Size() { // a short vector is one too
		return classBytes
	}
	switch p.Type.Kind() {
	case ptx.KindUnsigned, ptx.KindSigned:
		return classInt
	case ptx.KindFloat:
		return classFloat
	case ptx.KindBits:
		return classBits
	}
	return classAny
}
