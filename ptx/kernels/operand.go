package kernels

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// operand is a memory operand after the checks that depend on its element type.
type operand struct {
	name string
	mem  driver.View[byte]
	n    uint64 // number of elements
	size uintptr
	err  error
	none bool // there is no memory, which some operations permit

	addr, bytes uint64 // address and size in bytes of the part of the memory that is compared with other operands
}

// operandOf checks one operand. The memory must not be nil or closed, and its address must be a
// multiple of the element size, as in every buffer and every view of a buffer.
func operandOf[T any](name string, m driver.MemoryOf[T]) operand {
	o := operand{name: name, size: sizeOf[T]()}
	if m == nil {
		o.err = invalid("%s is nil", name)
		return o
	}
	v, err := driver.ViewAs[byte](m)
	if err != nil {
		o.err = fmt.Errorf("%s: %w", name, err)
		return o
	}
	o.set(v)
	if o.addr%uint64(o.size) != 0 {
		o.err = invalid("%s begins at %#x, which is not a multiple of the %d bytes of its elements", name, o.addr, o.size)
	}
	return o
}

func (o *operand) set(v driver.View[byte]) {
	o.mem, o.n = v, uint64(v.Bytes()/o.size)
	o.addr, o.bytes = uint64(v.Ptr()), uint64(v.Bytes())
}

// usable returns the first error among the operands.
func usable(operands ...operand) error {
	for _, o := range operands {
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// sameLength returns the first error among the operands, or an error if their lengths
// differ.
func sameLength(first operand, others ...operand) error {
	if first.err != nil {
		return first.err
	}
	for _, o := range others {
		if o.err != nil {
			return o.err
		}
		if o.n != first.n {
			return invalid("%s has %d elements, but %s has %d; take a View of the intended part", first.name, first.n, o.name, o.n)
		}
	}
	return nil
}

// inPlace checks that each source either equals the destination or does not overlap it.
func inPlace(dst operand, sources ...operand) error {
	for _, s := range sources {
		if s.addr == dst.addr && s.bytes == dst.bytes && s.size == dst.size {
			continue
		}
		if err := apart(dst, s); err != nil {
			return err
		}
	}
	return nil
}

// apart checks that no source shares a byte with the destination.
func apart(dst operand, sources ...operand) error {
	for _, s := range sources {
		if dst.bytes == 0 || s.bytes == 0 {
			continue
		}
		if dst.addr < s.addr+s.bytes && s.addr < dst.addr+dst.bytes {
			return invalid("%s and %s overlap", dst.name, s.name)
		}
	}
	return nil
}

// elementwiseOf checks operands that are read element by element and must have the same length as
// the destination.
func elementwiseOf(dst operand, sources ...operand) error {
	if err := sameLength(dst, sources...); err != nil {
		return err
	}
	return inPlace(dst, sources...)
}

// invalidError is an operand error detected before the driver call. It matches
// CUDA_ERROR_INVALID_VALUE.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }
func (e *invalidError) Is(target error) bool {
	return target == error(driver.CUDA_ERROR_INVALID_VALUE)
}

func invalid(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// opError adds the name of the operation that could not be created.
func opError(op string, err error) error { return fmt.Errorf("kernels: %s: %w", op, err) }
