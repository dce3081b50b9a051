package mathtest

import (
	"math"
	"math/big"

	"github.com/purecuda/cuda/internal/exact"
	gpumath "github.com/purecuda/cuda/ptx/gpu/math"
)

// A Unary64 is a function of one float64 value.
type Unary64 struct {
	Name string
	F    func(float64) float64
	// Std is the standard library's function. A NaN, an infinity or a zero that it returns is correct.
	Std   func(float64) float64
	Exact func(*big.Float) *big.Float // nil if every result of Std is correct
	// Bound is the documented error bound in ulps.
	Bound float64
	Trust bool // whether Std overflows and underflows at exactly the right arguments
}

// Unary64s lists the functions of package math with one argument. Functions with two results occur
// twice.
var Unary64s = []Unary64{
	{"Exp", gpumath.Exp, math.Exp, exact.Exp, 1, false},
	{"Exp2", gpumath.Exp2, math.Exp2, exact.Exp2, 1, false},
	{"Expm1", gpumath.Expm1, math.Expm1, exact.Expm1, 1, false},
	{"Log", gpumath.Log, math.Log, exact.Log, 1, false},
	{"Log2", gpumath.Log2, math.Log2, exact.Log2, 1, false},
	{"Log10", gpumath.Log10, math.Log10, exact.Log10, 1, false},
	{"Log1p", gpumath.Log1p, math.Log1p, exact.Log1p, 1, false},
	{"Sin", gpumath.Sin, math.Sin, exact.Sin, 1, false},
	{"Cos", gpumath.Cos, math.Cos, exact.Cos, 1, false},
	{"Tan", gpumath.Tan, math.Tan, exact.Tan, 1, false},
	{"Asin", gpumath.Asin, math.Asin, exact.Asin, 1, false},
	{"Acos", gpumath.Acos, math.Acos, exact.Acos, 1, false},
	{"Atan", gpumath.Atan, math.Atan, exact.Atan, 1, false},
	{"Sinh", gpumath.Sinh, math.Sinh, exact.Sinh, 1, false},
	{"Cosh", gpumath.Cosh, math.Cosh, exact.Cosh, 1, false},
	{"Tanh", gpumath.Tanh, math.Tanh, exact.Tanh, 1, false},
	{"Asinh", gpumath.Asinh, math.Asinh, exact.Asinh, 1, false},
	{"Acosh", gpumath.Acosh, math.Acosh, exact.Acosh, 1, false},
	{"Atanh", gpumath.Atanh, math.Atanh, exact.Atanh, 1, false},
	{"Erf", gpumath.Erf, math.Erf, exact.Erf, 1, false},
	{"Erfc", gpumath.Erfc, math.Erfc, exact.Erfc, 1, false},
	{"Cbrt", gpumath.Cbrt, math.Cbrt, exact.Cbrt, 1, false},
	{"Rcbrt", gpumath.Rcbrt, func(x float64) float64 { return 1 / math.Cbrt(x) }, inverse(exact.Cbrt), 1, false},
	{"Sqrt", gpumath.Sqrt, math.Sqrt, exact.Sqrt, 0.5, false},
	{"Rsqrt", gpumath.Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, inverse(exact.Sqrt), 1, false},
	{"Sinpi", gpumath.Sinpi, sinPi, exact.SinPi, 1, true},
	{"Cospi", gpumath.Cospi, cosPi, exact.CosPi, 1, true},
	{"Round", gpumath.Round, math.Round, nil, 0, true},
	{"RoundToEven", gpumath.RoundToEven, math.RoundToEven, nil, 0, true},
	{"Floor", gpumath.Floor, math.Floor, nil, 0, true},
	{"Ceil", gpumath.Ceil, math.Ceil, nil, 0, true},
	{"Trunc", gpumath.Trunc, math.Trunc, nil, 0, true},
	{"Modf, whole", first(gpumath.Modf), first(math.Modf), nil, 0, true},
	{"Modf, fraction", second(gpumath.Modf), second(math.Modf), nil, 0, true},
	{"Frexp, fraction", func(x float64) float64 { f, _ := gpumath.Frexp(x); return f },
		func(x float64) float64 { f, _ := math.Frexp(x); return f }, nil, 0, true},
	{"Frexp, exponent", func(x float64) float64 { _, e := gpumath.Frexp(x); return float64(e) },
		func(x float64) float64 { _, e := math.Frexp(x); return float64(e) }, nil, 0, true},
	{"Logb", gpumath.Logb, math.Logb, nil, 0, true},
	{"Ilogb", func(x float64) float64 { return float64(gpumath.Ilogb(x)) },
		func(x float64) float64 { return float64(math.Ilogb(x)) }, nil, 0, true},
	{"Sincos, sine", first(gpumath.Sincos), math.Sin, exact.Sin, 1, false},
	{"Sincos, cosine", second(gpumath.Sincos), math.Cos, exact.Cos, 1, false},
}

// Error returns the error of f(x) in ulps.
func (f Unary64) Error(x float64) float64 {
	got, std := f.F(x), f.Std(x)
	special := std == 0 || math.IsInf(std, 0)
	// Std may overflow or underflow at slightly different arguments than the exact function.
	if a := math.Abs(x); special && (a > 700 && a < 1100 || a > 25 && a < 30) && !f.Trust {
		special = false
	}
	if x == 0 || x-x != 0 || std != std || special || f.Exact == nil {
		return class(got, std)
	}
	return ULP64(got, f.Exact(exact.New(precision, x)))
}

// precision is sufficient to measure the errors of float64 results.
const precision = 96

// class returns 0 if the numbers are equal, or if they are almost equal and neither is special.
func class(got, want float64) float64 {
	switch {
	case got != got && want != want, math.Float64bits(got) == math.Float64bits(want):
		return 0
	case want == 0 || math.IsInf(want, 0) || want != want || got != got:
		return math.Inf(1)
	}
	return math.Abs(got-want) / math.Abs(want) * 0x1p52
}

func inverse(f func(*big.Float) *big.Float) func(*big.Float) *big.Float {
	return func(x *big.Float) *big.Float {
		y := f(x)
		return y.Quo(exact.New(x.Prec(), 1), y)
	}
}

// sinPi returns the sine of π·x where the sine is zero or a NaN. Elsewhere it returns an arbitrary
// nonzero number.
func sinPi(x float64) float64 {
	switch {
	case x-x != 0:
		return math.NaN()
	case x == math.Trunc(x):
		return math.Copysign(0, x)
	}
	return 2
}

// cosPi returns the cosine of π·x where the cosine is zero or a NaN. Elsewhere it returns an
// arbitrary nonzero number.
func cosPi(x float64) float64 {
	switch {
	case x-x != 0:
		return math.NaN()
	case x == 0:
		return 1
	case math.Mod(math.Abs(x), 1) == 0.5:
		return 0
	}
	return 2
}
