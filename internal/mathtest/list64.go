package mathtest

import (
	"math"
	"math/big"

	"github.com/purecuda/cuda/internal/exact"
	gpumath "github.com/purecuda/cuda/ptx/gpu/math"
)

// A Unary64 is a function of one float64.
type Unary64 struct {
	Name string
	F    func(float64) float64
	// Std has the right result where it is a NaN, infinite or zero.
	Std   func(float64) float64
	Exact func(*big.Float) *big.Float
	// Bound is the largest error in ulps that the documentation states.
	Bound float64
}

// Unary64s lists the functions of package math with one argument. Functions with two results occur
// twice.
var Unary64s = []Unary64{
	{"Exp", gpumath.Exp, math.Exp, exact.Exp, 1},
	{"Exp2", gpumath.Exp2, math.Exp2, exact.Exp2, 1},
	{"Expm1", gpumath.Expm1, math.Expm1, exact.Expm1, 1},
	{"Log", gpumath.Log, math.Log, exact.Log, 1},
	{"Log2", gpumath.Log2, math.Log2, exact.Log2, 1},
	{"Log10", gpumath.Log10, math.Log10, exact.Log10, 1},
	{"Log1p", gpumath.Log1p, math.Log1p, exact.Log1p, 1},
	{"Sin", gpumath.Sin, math.Sin, exact.Sin, 1},
	{"Cos", gpumath.Cos, math.Cos, exact.Cos, 1},
	{"Sincos, sine", func(x float64) float64 { s, _ := gpumath.Sincos(x); return s }, math.Sin, exact.Sin, 1},
	{"Sincos, cosine", func(x float64) float64 { _, c := gpumath.Sincos(x); return c }, math.Cos, exact.Cos, 1},
}

// Error returns the error of f(x) in ulps.
func (f Unary64) Error(x float64) float64 {
	got, std := f.F(x), f.Std(x)
	if x == 0 || x-x != 0 || std != std || (std == 0 || math.IsInf(std, 0)) && !(math.Abs(x) > 1 && math.Abs(x) < 1e4) {
		return class(got, std)
	}
	return ULP64(got, f.Exact(exact.New(precision, x)))
}

// precision is enough to measure errors of float64 results.
const precision = 96

// class returns 0 if the numbers are equal, or almost equal and neither special.
func class(got, want float64) float64 {
	switch {
	case got != got && want != want, math.Float64bits(got) == math.Float64bits(want):
		return 0
	case want == 0 || math.IsInf(want, 0) || want != want || got != got:
		return math.Inf(1)
	}
	return math.Abs(got-want) / math.Abs(want) * 0x1p52
}
