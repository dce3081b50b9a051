package driver

import (
	"fmt"

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

// paramClass is what a parameter's type says about its bits.
type paramClass uint8

const (
	classAny   paramClass = iota // nothing: loaded as binary
	classInt                     // .u and .s types
	classFloat                   // .f types
	classBits                    // .b types
	classBytes                   // arrays: structs passed by value
)

// String is the parameter as an error message shows it.
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

// paramsFrom takes over the parameters of a signature.
func paramsFrom(s *ptx.Signature) []Param {
	params := make([]Param, len(s.Params))
	for i, p := range s.Params {
		params[i] = Param{
			Name: p.Name, Type: paramType(p), Size: uintptr(p.Size), Offset: uintptr(p.Offset),
			Align: uintptr(p.Align), Pointer: p.Kind == ptx.ParamPointer, class: classOf(p),
		}
	}
	return params
}

func paramType(p ptx.Param) string {
	t := "." + p.Type.String()
	if p.Kind == ptx.ParamAggregate {
		return fmt.Sprintf("%s[%d]", t, p.Len)
	}
	return t
}

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
