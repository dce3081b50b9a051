package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/arith"
	elements "github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

// arithKernel returns the kernel for a type, and the part of its parameter op that selects the type.
func arithKernel[T Number]() (kernel kernelName, of uint32) {
	class := ""
	switch typeOf[T]() {
	case typeI32:
		class = "b32"
	case typeU32:
		class, of = "b32", arith.Unsigned
	case typeF32:
		class, of = "b32", arith.Float
	case typeI64:
		class = "b64"
	case typeU64:
		class, of = "b64", arith.Unsigned
	case typeF64:
		class, of = "b64", arith.Float
	default:
		var kind elements.Kind
		class, kind = floatClass[T]()
		of = arith.Of(kind)
	}
	return kernelName{"arith_", class}, of
}

// Number lists the types that support arithmetic.
//
// Results of float32 and float64 are rounded to nearest. The 16-bit types compute in
// float32 and round a second time, which affects only subnormals. Integers wrap around.
// Integer division rounds toward zero, and division by 0 returns 0.
type Number interface {
	int32 | uint32 | int64 | uint64 | F16 | BF16 | float32 | float64
}

// Add returns the operation dst[i] = a[i] + b[i].
//
// In all operations with two operands, dst and a must have the same length. The length of
// b must divide that length. A shorter b is repeated, like a row that is added to each
// row of a matrix. dst may be a, or b if b has the same length.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 a, 3 b, 4 number of elements of b
// (uint64), and two more, which must not be changed. It reads a and b and writes dst.
func Add[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("add", arith.Add, again, dst, a, b)
}

// Sub returns the operation dst[i] = a[i] - b[i]. It takes the same operands and arguments as
// [Add].
func Sub[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("sub", arith.Sub, again, dst, a, b)
}

// Mul returns the operation dst[i] = a[i] · b[i]. It takes the same operands and arguments as
// [Add].
func Mul[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("mul", arith.Mul, again, dst, a, b)
}

// Div returns the operation dst[i] = a[i] / b[i]. It takes the same operands and arguments as
// [Add].
func Div[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("div", arith.Div, again, dst, a, b)
}

// Maximum returns the operation that sets dst[i] to the larger of a[i] and b[i]. If one
// of the two is NaN, the result is the other. It takes the same operands and arguments as [Add].
func Maximum[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("max", arith.Max, again, dst, a, b)
}

// Minimum returns the operation that sets dst[i] to the smaller of a[i] and b[i]. If one
// of the two is NaN, the result is the other. It takes the same operands and arguments as [Add].
func Minimum[T Number](dst, a, b driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return binary("min", arith.Min, again, dst, a, b)
}

func binary[T Number](name string, op uint32, again []*driver.Launch, dst, a, b driver.MemoryOf[T]) (*driver.Launch, error) {
	d, x, y := operandOf("dst", dst), operandOf("a", a), operandOf("b", b)
	if err := repeats(d, x, y); err != nil {
		return nil, opError(name, err)
	}
	kernel, of := arithKernel[T]()
	m := maker{&arith.Code, d.mem.Context(), kernel, reused(again)}
	l, err := m.elementwise(once, d.n, pack(d.size), out(&d), u64(d.n), in(&x), in(&y), u64(y.n), number(*new(T)), constant(op|of))
	if err != nil {
		return nil, opError(name, err)
	}
	l.Kernel().SetLabel(arith.Label)
	return l, nil
}

// repeats returns an error if the lengths of the operands do not fit together. b may be shorter
// than dst, and the kernel then repeats it.
func repeats(dst, a, b operand) error {
	if err := usable(dst, a, b); err != nil {
		return err
	}
	if b.n == dst.n {
		return elementwiseOf(dst, a, b)
	}
	if b.n == 0 || dst.n%b.n != 0 {
		return invalid("b has %d elements, which cannot be repeated for the %d of dst", b.n, dst.n)
	}
	if err := elementwiseOf(dst, a); err != nil {
		return err
	}
	return apart(dst, b)
}

// AddScalar returns the operation dst[i] = a[i] + b for a number b.
//
// In all operations with a number, dst and a must have the same length and may be the
// same memory.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 a, 5 b, and others, which must not be changed. It
// reads a and writes dst.
func AddScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("add", arith.Add, again, dst, a, b)
}

// SubScalar returns the operation dst[i] = a[i] - b. It takes the same operands and arguments as
// [AddScalar].
func SubScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("sub", arith.Sub, again, dst, a, b)
}

// ScalarSub returns the operation dst[i] = b - a[i]. It takes the same operands and arguments as
// [AddScalar].
func ScalarSub[T Number](dst driver.MemoryOf[T], b T, a driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("subfrom", arith.Sub|arith.Swapped, again, dst, a, b)
}

// MulScalar returns the operation dst[i] = a[i] · b. It takes the same operands and arguments as
// [AddScalar].
func MulScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("mul", arith.Mul, again, dst, a, b)
}

// DivScalar returns the operation dst[i] = a[i] / b. It takes the same operands and arguments as
// [AddScalar].
func DivScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("div", arith.Div, again, dst, a, b)
}

// ScalarDiv returns the operation dst[i] = b / a[i]. It takes the same operands and arguments as
// [AddScalar].
func ScalarDiv[T Number](dst driver.MemoryOf[T], b T, a driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("divinto", arith.Div|arith.Swapped, again, dst, a, b)
}

// MaximumScalar returns the operation that sets dst[i] to the larger of a[i] and b. It
// treats NaN like [Maximum]. It takes the same operands and arguments as [AddScalar].
func MaximumScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("max", arith.Max, again, dst, a, b)
}

// MinimumScalar returns the operation that sets dst[i] to the smaller of a[i] and b. It
// treats NaN like [Minimum]. It takes the same operands and arguments as [AddScalar].
func MinimumScalar[T Number](dst, a driver.MemoryOf[T], b T, again ...*driver.Launch) (*driver.Launch, error) {
	return scalar("min", arith.Min, again, dst, a, b)
}

func scalar[T Number](name string, op uint32, again []*driver.Launch, dst, a driver.MemoryOf[T], b T) (*driver.Launch, error) {
	d, x := operandOf("dst", dst), operandOf("a", a)
	if err := elementwiseOf(d, x); err != nil {
		return nil, opError(name, err)
	}
	kernel, of := arithKernel[T]()
	m := maker{&arith.Code, d.mem.Context(), kernel, reused(again)}
	l, err := m.elementwise(once, d.n, pack(d.size), out(&d), u64(d.n), in(&x), arg{}, u64(0), number(b), constant(op|of|arith.Scalar))
	if err != nil {
		return nil, opError(name, err)
	}
	l.Kernel().SetLabel(arith.Label)
	return l, nil
}
