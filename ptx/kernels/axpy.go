package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/axpy"
)

// Axpy returns the operation that adds a·x[i] to each element of y. x and y must have the
// same length.
//
// For float32 and float64 it is a fused multiply-add, which rounds once. For the 16-bit
// types it rounds the result to float32 first. The error is then at most (0.5 + 2^-12)
// units in the last place.
//
// Arguments: 0 y, 1 number of elements (uint64), 2 a, 3 x. It reads x and y and writes y.
func Axpy[T Float](y driver.MemoryOf[T], a T, x driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	to, from := operandOf("y", y), operandOf("x", x)
	if err := elementwiseOf(to, from); err != nil {
		return nil, opError("axpy", err)
	}
	class, kind := floatClass[T]()
	m := maker{&axpy.Code, to.mem.Context(), kernelName{"axpy_", class}, reused(again)}
	args := [5]arg{inOut(&to), u64(to.n), number(a), in(&from), constant(uint32(kind))}
	count := len(args)
	if class != classHalf {
		count--
	}
	l, err := m.elementwise(once, to.n, pack(to.size), args[:count]...)
	if err != nil {
		return nil, opError("axpy", err)
	}
	return l, nil
}
