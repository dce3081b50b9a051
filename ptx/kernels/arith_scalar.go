package kernels

import "github.com/purecuda/cuda/driver"

// AddScalar returns the operation dst[i] = a[i] + b for a number b.
//
// Here and in the other operations with a number, dst and a have the same length and
// may be the same memory.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 a, 3 b. It reads a and
// writes dst.
func AddScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("add", again, dst, a, b)
}

// SubScalar returns the operation dst[i] = a[i] - b; operands and arguments are those
// of [AddScalar].
func SubScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("sub", again, dst, a, b)
}

// ScalarSub returns the operation dst[i] = b - a[i]; operands and arguments are those
// of [AddScalar].
func ScalarSub[T Number](dst driver.MemoryOf[T], b T, a driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("subfrom", again, dst, a, b)
}

// MulScalar returns the operation dst[i] = a[i] · b; operands and arguments are those
// of [AddScalar].
func MulScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("mul", again, dst, a, b)
}

// DivScalar returns the operation dst[i] = a[i] / b; operands and arguments are those
// of [AddScalar].
func DivScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("div", again, dst, a, b)
}

// ScalarDiv returns the operation dst[i] = b / a[i]; operands and arguments are those
// of [AddScalar].
func ScalarDiv[T Number](dst driver.MemoryOf[T], b T, a driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("divinto", again, dst, a, b)
}

// MaximumScalar returns the operation that sets dst[i] to the larger of a[i] and b, as
// [Maximum] does; operands and arguments are those of [AddScalar].
func MaximumScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("max", again, dst, a, b)
}

// MinimumScalar returns the operation that sets dst[i] to the smaller of a[i] and b, as
// [Minimum] does; operands and arguments are those of [AddScalar].
func MinimumScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("min", again, dst, a, b)
}

func scalar[T Number](name string, again []*driver.Launch, dst, a driver.MemoryOf[T], b T) (*driver.Launch, error) {
	d, x := operandOf("dst", dst), operandOf("a", a)
	if err := elementwiseOf(d, x); err != nil {
		return nil, opError(name, err)
	}
	t := typeName[T]()
	m := maker{arithSource(t), d.mem.Context(), kernelName{name, "_scalar_", t}, reused(again)}
	l, err := m.elementwise(d.n, pack(d.size), out(&d), u64(d.n), in(&x), number(b))
	if err != nil {
		return nil, opError(name, err)
	}
	return l, nil
}
