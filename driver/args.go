package driver

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/ptx"
)

// argForm selects how to read an argument's bytes from a Go value.
type argForm = launch.Form

const (
	formPlain  argForm = iota + launch.FormPlain // the value's own bytes
	formBuffer                                   // *Buffer[T]: its address
	formView                                     // View[T]: its address
	formMemory                                   // another Memory: its address
	formMarked                                   // Declared: a Memory and its access mode
	formWord                                     // ArgWord: its 64-bit word
)

// argKind groups Go types by the parameter types that accept them.
type argKind uint8

const (
	kindInt argKind = iota
	kindFloat
	kindAddress // Memory
	kindBytes   // everything else passed by value: arrays, structs, complex numbers
)

// argType caches the properties of an argument that depend only on its Go type.
type argType struct {
	typ  reflect.Type
	form argForm
	kind argKind
	size uintptr
	err  error // why no parameter accepts the type
}

var argTypes sync.Map // reflect.Type to *argType

func argTypeOf(t reflect.Type) *argType {
	if a, ok := argTypes.Load(t); ok {
		return a.(*argType)
	}
	a, _ := argTypes.LoadOrStore(t, newArgType(t))
	return a.(*argType)
}

var (
	spanType   = reflect.TypeFor[span]()
	memoryType = reflect.TypeFor[Memory]()
	arrayType  = reflect.TypeFor[*Array]()
	wordType   = reflect.TypeFor[ArgWord]()
	hostType   = reflect.TypeFor[hostMemory]()
)

func newArgType(t reflect.Type) *argType {
	a := &argType{typ: t, size: t.Size()}
	switch {
	case t.Implements(wordType):
		a.kind, a.size, a.form = kindInt, wordSize, formWord
	case t.Implements(hostType):
		a.err = fmt.Errorf("a %v is host memory; pass what its Device method returns", t)
	case t.Implements(memoryType) && t != arrayType:
		a.kind, a.size = kindAddress, addressSize
		a.form = memoryForm(t)
	default:
		a.kind, a.err = plainKind(t)
	}
	return a
}

const addressSize = 8

// memoryForm returns the form of a Memory type. The form of a type that embeds Buffer or View is
// formMemory, because reading its address requires a method call.
func memoryForm(t reflect.Type) argForm {
	if t == declaredType {
		return formMarked
	}
	if isSpan(t) {
		return formView
	}
	if t.Kind() == reflect.Pointer && isSpan(t.Elem()) {
		return formBuffer
	}
	return formMemory
}

// isSpan reports whether t is Buffer[T] or View[T]: a struct of this package with a span as its
// only field.
func isSpan(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == spanType.PkgPath() &&
		t.NumField() == 1 && t.Field(0).Type == spanType
}

func plainKind(t reflect.Type) (argKind, error) {
	switch t.Kind() {
	case reflect.Int, reflect.Uint:
		return kindInt, fmt.Errorf("a Go %v has no fixed size; use %v32 or %v64", t, t.Kind(), t.Kind())
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return kindInt, nil
	case reflect.Float32, reflect.Float64:
		return kindFloat, nil
	case reflect.Array, reflect.Struct, reflect.Complex64, reflect.Complex128:
		return kindBytes, elem.CheckType(t)
	case reflect.Slice, reflect.Pointer, reflect.UnsafePointer:
		return kindBytes, fmt.Errorf("%s is a Go pointer, which the device cannot follow; pass a Buffer or a View", life.AKind(t.String()))
	}
	return kindBytes, fmt.Errorf("%s cannot be passed to a kernel", life.AKind(t.String()))
}

// accepts returns nil if arguments of type a fit the parameter. The error's text is meant to follow
// a prefix such as "argument 2 (n): ".
func (p *Param) accepts(a *argType) error {
	if a.err != nil {
		return a.err
	}
	if a.kind == kindAddress && p.holdsSlice() {
		return nil
	}
	if p.Size != a.size {
		return fmt.Errorf("it is %v (%d bytes), but %s has %d bytes%s", p.typeName(), p.Size, life.AKind(a.typ.String()), a.size, p.advice())
	}
	if p.class == classAny || p.takes(a.kind) {
		return nil
	}
	return fmt.Errorf("it is %v, but the argument is %s%s", p.typeName(), life.AKind(a.typ.String()), p.advice())
}

// The sizes of kernel parameters that are a Go slice or a View of package gpu. Both hold an address
// and a length. A slice also holds a capacity.
const (
	viewSize  = 2 * addressSize
	sliceSize = 3 * addressSize
)

// holdsSlice reports whether the parameter can be a slice or a View of package gpu.
func (p *Param) holdsSlice() bool {
	return (p.Size == viewSize || p.Size == sliceSize) && (p.class == classBytes || p.class == classAny)
}

// takes reports whether k fits the parameter's type. The caller must already have compared the
// sizes.
func (p *Param) takes(k argKind) bool {
	switch p.class {
	case classInt:
		return k == kindInt || k == kindAddress && p.Size == addressSize
	case classFloat:
		// Go has no 16-bit float type. An integer argument provides the bits.
		return k == kindFloat || k == kindInt && p.Size < 4
	case classBits:
		return k != kindAddress || p.Size == addressSize
	case classBytes:
		return k != kindAddress
	}
	return true
}

// advice suggests the Go type to pass. It returns "" if there is no obvious one.
func (p *Param) advice() string {
	switch {
	case p.class == classFloat && p.Size == 4:
		return "; pass a float32"
	case p.class == classFloat && p.Size == 8:
		return "; pass a float64"
	case p.class == classInt && p.Pointer:
		return "; pass a Buffer, a View or a CUdeviceptr"
	case p.class == classInt && p.Size == 8:
		return "; pass a Buffer, a View, a CUdeviceptr or a 64-bit integer"
	case p.class == classInt || p.class == classBits && p.Size <= 8:
		return fmt.Sprintf("; pass an integer of %d bits", 8*p.Size)
	case p.class == classBytes:
		return "; pass an array or a struct of exactly that size"
	}
	return ""
}

// signature formats parameters for error messages: "x .u64, n .u32".
func signature(params []Param) string {
	if len(params) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		if p.Name != "" {
			b.WriteString(p.Name + " ")
		}
		b.WriteString(p.typeName())
	}
	return b.String()
}

// ArgWord is a kernel argument that converts to a 64-bit word, such as the handles of package
// graph. The parameter must be .u64, .s64 or .b64.
type ArgWord interface{ ArgWord() uint64 }

const wordSize = 8

// Param is one parameter of a kernel.
type Param struct {
	Name    string  // the PTX name; "" for a kernel loaded from a binary
	Type    string  // ".u64", ".b8[12]"; "" if only the size is known
	Size    uintptr // in bytes
	Offset  uintptr // offset in the kernel's parameter space, in bytes
	Align   uintptr
	Pointer bool // declared .ptr in the PTX

	class paramClass
}

// paramClass determines how a parameter's bits are interpreted.
type paramClass uint8

const (
	classAny   paramClass = iota // unknown: the kernel was loaded from a binary
	classInt                     // .u and .s types
	classFloat                   // .f types
	classBits                    // .b types
	classBytes                   // arrays: structs passed by value
)

// String returns the parameter in the form that error messages use.
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

// paramsFrom takes the result's memory from c.params, so that several kernels share one allocation.
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

// dotted returns the PTX names of all types, such as ".u32", indexed by ptx.Type.
var dotted = sync.OnceValue(func() *[256]string {
	names := new([256]string)
	for i := range names {
		names[i] = "." + ptx.Type(i).String()
	}
	return names
})

func classOf(p ptx.Param) paramClass {
	if p.Kind == ptx.ParamAggregate || p.Size > p.Type.Size() { // short vectors are also passed as arrays
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
