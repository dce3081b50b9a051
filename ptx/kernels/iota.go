package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/iota"
)

// Iota returns the operation that sets element i of dst to start + i·step.
//
// Integers wrap around. Floats of up to 32 bits are computed as float64 and then rounded
// to nearest. A float64 result is rounded once. The index i is exact up to 2^53.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 start, 3 step. For F16 and BF16, there is one more, which must not
// be changed. It writes dst.
func Iota[T Element](dst driver.MemoryOf[T], start, step T, again ...*driver.Launch) (*driver.Launch, error) {
	d := operandOf("dst", dst)
	if d.err != nil {
		return nil, opError("iota", d.err)
	}
	m := maker{&iota.Code, d.mem.Context(), kernelName{"iota_", arithmeticName[T]()}, reused(again)}
	args := [5]arg{out(&d), u64(d.n), number(start), number(step)}
	count := 4
	if class, kind := floatClass[T](); isFloat[T]() && class == classHalf {
		m.kernel[1] = class
		args[count] = constant(uint32(kind))
		count++
	}
	l, err := m.elementwise(once, d.n, pack(d.size), args[:count]...)
	if err != nil {
		return nil, opError("iota", err)
	}
	return l, nil
}

// arithmeticName returns the name of the type for kernels that add and multiply. Signed
// and unsigned integers share those kernels.
func arithmeticName[T Element]() string {
	if isFloat[T]() {
		return typeName[T]()
	}
	return bitsName[T]()
}
