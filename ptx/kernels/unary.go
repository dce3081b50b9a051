package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launchers"
)

// unarySource returns the PTX file for a type.
func unarySource(typ string) source {
	switch typ {
	case "f16":
		return launchers.UnaryF16Module
	case "bf16":
		return launchers.UnaryBF16Module
	case "f32":
		return launchers.UnaryF32Module
	}
	return launchers.UnaryF64Module
}

// Neg returns the operation dst[i] = -src[i].
//
// Here and in the other functions of one operand, dst and src have the same length and
// may be the same memory. The 16-bit types are computed in float32 and rounded at the
// end, which adds half a unit in the last place of the type to the error stated for
// float32. A unit in the last place (ulp) is that of the exact result.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 src. It reads src and writes dst.
func Neg[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("neg", again, dst, src)
}

// Abs returns the operation dst[i] = |src[i]|, exact. Operands and arguments are those
// of [Neg].
func Abs[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("abs", again, dst, src)
}

// ReLU returns the operation dst[i] = max(src[i], 0), exact; NaN stays NaN. Operands
// and arguments are those of [Neg].
func ReLU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("relu", again, dst, src)
}

// GELU returns the operation dst[i] = x·Φ(x) for x = src[i], where Φ is the
// distribution function of the normal distribution: the exact form, with the error
// function. Its error is at most 8 ulp, also for float64. Operands and arguments are
// those of [Neg].
func GELU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("gelu", again, dst, src)
}

// GELUTanh returns the usual approximation of [GELU], 0.5·x·(1 + tanh u) with u =
// √(2/π)·(x + 0.044715·x³). Its error is at most 8 ulp. For a negative x it is up to 4
// ulp more for each unit of u, because the result is an exponential of u. Operands and
// arguments are those of [Neg].
func GELUTanh[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("gelutanh", again, dst, src)
}

// SiLU returns the operation dst[i] = x / (1 + exp(-x)) for x = src[i]. Its error is at
// most 4 ulp as long as exp(-x) is finite; beyond that, the result is 0. Operands and
// arguments are those of [Neg].
func SiLU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("silu", again, dst, src)
}

// Sigmoid returns the operation dst[i] = 1 / (1 + exp(-src[i])). Its error is at most 4
// ulp as long as exp(-x) is finite; beyond that, the result is 0. Operands and
// arguments are those of
// [Neg].
func Sigmoid[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("sigmoid", again, dst, src)
}

// Tanh returns the operation dst[i] = tanh(src[i]), with an error of at most 2 ulp.
// Operands and arguments are those of [Neg].
func Tanh[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("tanh", again, dst, src)
}

// Exp returns the operation dst[i] = exp(src[i]), with an error of at most 2 ulp.
// Operands and arguments are those of [Neg].
func Exp[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("exp", again, dst, src)
}

// Log returns the operation that sets dst[i] to the natural logarithm of src[i], with
// an error of at most 2 ulp. Operands and arguments are those of [Neg].
func Log[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("log", again, dst, src)
}

// Sqrt returns the operation dst[i] = √src[i], rounded to the nearest. Operands and
// arguments are those of [Neg].
func Sqrt[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("sqrt", again, dst, src)
}

// Rsqrt returns the operation dst[i] = 1/√src[i], with an error of at most 2 ulp.
// Operands and arguments are those of [Neg].
func Rsqrt[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("rsqrt", again, dst, src)
}

func unary[T Float](name string, again []*driver.Launch, dst, src driver.MemoryOf[T]) (*driver.Launch, error) {
	d, s := operandOf("dst", dst), operandOf("src", src)
	if err := elementwiseOf(d, s); err != nil {
		return nil, opError(name, err)
	}
	t := typeName[T]()
	m := maker{unarySource(t), d.mem.Context(), kernelName{name, "_", t}, reused(again)}
	l, err := m.elementwise(d.n, pack(d.size), out(&d), u64(d.n), in(&s))
	if err != nil {
		return nil, opError(name, err)
	}
	return l, nil
}
