package fused

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// Binding is the memory of an [Input] or the number of a [Scalar] for an operation.
type Binding struct {
	param
	mem  driver.View[byte]
	n    uint64 // number of elements of mem
	bits uint64 // of the number
	err  error
}

// Bind returns the binding of the input to memory.
func (x Input[T]) Bind(m driver.MemoryOf[T]) Binding { return bind(string(x), typeOf[T](), m) }

// Bind returns the binding of the scalar to a number.
func (a Scalar[T]) Bind(v T) Binding {
	b := Binding{param: param{string(a), typeOf[T](), true}}
	*(*T)(unsafe.Pointer(&b.bits)) = v
	return b
}

// Arg returns the scalar among the arguments of an operation, to change it between launches.
func (a Scalar[T]) Arg(op *driver.Launch) (driver.Arg[T], error) {
	i, err := op.ArgIndex(string(a))
	if err != nil {
		return driver.Arg[T]{}, err
	}
	return driver.ArgOf[T](op, i)
}

func bind[T kernels.Float](name string, typ element, m driver.MemoryOf[T]) Binding {
	b := Binding{param: param{name, typ, false}}
	if m == nil {
		b.err = invalid("%s is nil", name)
		return b
	}
	if b.mem, b.err = driver.ViewAs[byte](m); b.err != nil {
		b.err = fmt.Errorf("%s: %w", name, b.err)
		return b
	}
	size := uint64(typ.size())
	b.n = uint64(b.mem.Bytes()) / size
	if at := uint64(b.mem.Ptr()); at%size != 0 {
		b.err = invalid("%s begins at %#x, which is not a multiple of the %d bytes of its elements", name, at, size)
	}
	return b
}

// of returns the first binding with the parameter's name, or nil.
func (p *param) of(bindings []Binding) *Binding {
	for i := range bindings {
		if bindings[i].name == p.name {
			return &bindings[i]
		}
	}
	return nil
}

// apart returns an error if an input overlaps the destination b in such a way that the kernel could
// read an element that it has already written.
func (b *Binding) apart(in *Binding) error {
	to, from := uint64(b.mem.Ptr()), uint64(in.mem.Ptr())
	same := to == from && b.typ.size() == in.typ.size()
	if same || to >= from+uint64(in.mem.Bytes()) || from >= to+uint64(b.mem.Bytes()) {
		return nil
	}
	return invalid("dst and %s overlap", in.name)
}

// value returns the argument in the form that Prepare accepts.
func (b *Binding) value() any {
	if !b.scalar {
		return driver.In(b.mem)
	}
	switch b.typ {
	case f16:
		return num.F16FromBits(uint16(b.bits))
	case bf16:
		return num.BF16FromBits(uint16(b.bits))
	case f32:
		return math.Float32frombits(uint32(b.bits))
	}
	return math.Float64frombits(b.bits)
}

// set changes argument i of a launch.
func (b *Binding) set(op *driver.Launch, i int) error {
	if !b.scalar {
		return driver.SetArg(op, i, b.mem)
	}
	switch b.typ {
	case f16:
		return driver.SetArg(op, i, num.F16FromBits(uint16(b.bits)))
	case bf16:
		return driver.SetArg(op, i, num.BF16FromBits(uint16(b.bits)))
	case f32:
		return driver.SetArg(op, i, math.Float32frombits(uint32(b.bits)))
	}
	return driver.SetArg(op, i, math.Float64frombits(b.bits))
}

// invalidError is an error detected before the driver call. It matches CUDA_ERROR_INVALID_VALUE.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }
func (e *invalidError) Is(target error) bool {
	return target == error(driver.CUDA_ERROR_INVALID_VALUE)
}

func invalid(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}
