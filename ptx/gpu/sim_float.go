package gpu

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

func addF32(a, b float32, _ Rounding) float32 { return a + b }
func mulF32(a, b float32, _ Rounding) float32 { return a * b }
func divF32(a, b float32, _ Rounding) float32 { return a / b }
func sqrtF32(a float32, _ Rounding) float32   { return float32(math.Sqrt(float64(a))) }
func addF64(a, b float64, _ Rounding) float64 { return a + b }
func mulF64(a, b float64, _ Rounding) float64 { return a * b }
func divF64(a, b float64, _ Rounding) float64 { return a / b }
func sqrtF64(a float64, _ Rounding) float64   { return math.Sqrt(a) }

func round2[T Float](a, b T, mode Rounding, f32 func(a, b float32, mode Rounding) float32, f64 func(a, b float64, mode Rounding) float64) T {
	if isFloat32[T]() {
		return T(f32(float32(a), float32(b), mode))
	}
	return T(f64(float64(a), float64(b), mode))
}

func round1[T Float](a T, mode Rounding, f32 func(a float32, mode Rounding) float32, f64 func(a float64, mode Rounding) float64) T {
	if isFloat32[T]() {
		return T(f32(float32(a), mode))
	}
	return T(f64(float64(a), mode))
}

func fmaRound[T Float](a, b, c T, _ Rounding) T {
	if isFloat32[T]() {
		return T(num.FMA(float32(a), float32(b), float32(c)))
	}
	return T(math.FMA(float64(a), float64(b), float64(c)))
}

// isFloat32 reports whether T has the precision of float32.
func isFloat32[T Float]() bool { x := T(1 << 24); return x+1 == x }

func integral(x float64, mode Rounding) float64 {
	switch mode {
	case ToZero:
		return math.Trunc(x)
	case ToNegativeInf:
		return math.Floor(x)
	case ToPositiveInf:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

func convert[T, F num.Number](x F, _ Rounding) T { return num.To[T](x) }

func approx(x float32, f func(float64) float64) float32 { return float32(f(float64(x))) }

func sin(x float64) float64   { return math.Sin(x) }
func cos(x float64) float64   { return math.Cos(x) }
func exp2(x float64) float64  { return math.Exp2(x) }
func log2(x float64) float64  { return math.Log2(x) }
func rcp(x float64) float64   { return 1 / x }
func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }
func sqrt(x float64) float64  { return math.Sqrt(x) }
func tanh(x float64) float64  { return math.Tanh(x) }

func divApprox(a, b float32) float32 { return a / b }
