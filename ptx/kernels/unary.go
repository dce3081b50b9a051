package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/library"
	functions "github.com/purecuda/cuda/ptx/kernels/internal/unary"
)

// Neg returns the operation dst[i] = -src[i].
//
// In all operations with one operand, dst and src must have the same length and may be the same
// memory. Errors are stated in units in the last place (ulp) of the exact result, and hold for float32
// and float64. Values of 16-bit types are computed in float32, with functions that are faster, and then
// rounded. Their error is at most 0.51 ulp.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 src. It reads src and writes dst.
func Neg[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("neg", functions.Neg, again, dst, src)
}

// Abs returns the operation dst[i] = |src[i]|. The result is exact. It takes the same operands and
// arguments as [Neg].
func Abs[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("abs", functions.Abs, again, dst, src)
}

// ReLU returns the operation dst[i] = max(src[i], 0). The result is exact, and NaN stays
// NaN. It takes the same operands and arguments as [Neg].
func ReLU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("relu", functions.ReLU, again, dst, src)
}

// GELU returns the operation dst[i] = x·Φ(x) for x = src[i], where Φ is the distribution function
// of the normal distribution. It computes this exact form with the error function. Its error is at
// most 8 ulp, including for float64. It takes the same operands and arguments as [Neg].
func GELU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("gelu", functions.GELU, again, dst, src)
}

// GELUTanh returns the usual approximation of [GELU], 0.5·x·(1 + tanh u) with u = √(2/π)·(x +
// 0.044715·x³). Its error is at most 8 ulp. For negative x, the bound increases by up to 4 ulp per
// unit of |u|, because the result is exponential in u. If exp(-2u) is not finite, the result is 0. It
// takes the same operands and arguments as [Neg].
func GELUTanh[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("gelutanh", functions.GELUTanh, again, dst, src)
}

// SiLU returns the operation dst[i] = x / (1 + exp(-x)) for x = src[i]. Its error is at most 4 ulp
// if exp(-x) is finite. Otherwise the result is 0. It takes the same operands and arguments as
// [Neg].
func SiLU[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("silu", functions.SiLU, again, dst, src)
}

// Sigmoid returns the operation dst[i] = 1 / (1 + exp(-x)) for x = src[i]. Its error is at most 4
// ulp if exp(-x) is finite. Otherwise the result is 0. It takes the same operands and arguments as
// [Neg].
func Sigmoid[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("sigmoid", functions.Sigmoid, again, dst, src)
}

// Tanh returns the operation dst[i] = tanh(src[i]), with an error of at most 2 ulp. It takes the
// same operands and arguments as [Neg].
func Tanh[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("tanh", functions.Tanh, again, dst, src)
}

// Exp returns the operation dst[i] = exp(src[i]), with an error of at most 2 ulp. It takes
// the same operands and arguments as [Neg].
func Exp[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("exp", functions.Exp, again, dst, src)
}

// Log returns the operation that sets dst[i] to the natural logarithm of src[i], with an
// error of at most 2 ulp. It takes the same operands and arguments as [Neg].
func Log[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("log", functions.Log, again, dst, src)
}

// Sqrt returns the operation dst[i] = √src[i], rounded to nearest. It takes the same operands and
// arguments as [Neg].
func Sqrt[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("sqrt", functions.Sqrt, again, dst, src)
}

// Rsqrt returns the operation dst[i] = 1/√src[i], with an error of at most 2 ulp. It takes
// the same operands and arguments as [Neg].
func Rsqrt[T Float](dst, src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	return unary("rsqrt", functions.Rsqrt, again, dst, src)
}

// unary creates the operation for a function of package unary.
func unary[T Float](name string, f uint32, again []*driver.Launch, dst, src driver.MemoryOf[T]) (*driver.Launch, error) {
	d, s := operandOf("dst", dst), operandOf("src", src)
	if err := elementwiseOf(d, s); err != nil {
		return nil, opError(name, err)
	}
	class, kind := floatClass[T]()
	of := &functions.Code
	if class == "f64" {
		of = &library.Code
	}
	m := maker{of, d.mem.Context(), kernelName{"unary_", class}, reused(again)}
	often := once
	if f == functions.GELU || class == "f64" { // has many instructions
		often = several
	}
	l, err := m.elementwise(often, d.n, pack(d.size), out(&d), u64(d.n), in(&s), constant(f|functions.Of(kind)))
	if err != nil {
		return nil, opError(name, err)
	}
	l.Kernel().SetLabel(functions.Label)
	return l, nil
}
