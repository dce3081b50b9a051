// Package functions contains functions of one element. Kernels of package unary and of package fused
// compute those for float32 and float64 with the same code, so their results have the same bits.
package functions

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// Float lists the types in which functions are computed.
type Float interface{ float32 | float64 }

// choose applies the function for the type of x.
func choose[T Float](x T, single func(float32) float32, double func(float64) float64) T {
	switch p := any(&x).(type) {
	case *float32:
		*p = single(*p)
	case *float64:
		*p = double(*p)
	}
	return x
}

// Exp returns exp(x).
func Exp[T Float](x T) T { return choose(x, math32.Exp, math.Exp) }

// Log returns the natural logarithm of x.
func Log[T Float](x T) T { return choose(x, math32.Log, math.Log) }

// Tanh returns tanh(x).
func Tanh[T Float](x T) T { return choose(x, math32.Tanh, math.Tanh) }

// Rsqrt returns 1/√x.
func Rsqrt[T Float](x T) T { return choose(x, math32.Rsqrt, math.Rsqrt) }

func erfc[T Float](x T) T { return choose(x, math32.Erfc, math.Erfc) }

// Sigmoid returns 1 / (1 + exp(-x)).
func Sigmoid[T Float](x T) T { return Quotient(1, Exp(-x)) }

// SiLU returns x / (1 + exp(-x)).
func SiLU[T Float](x T) T { return Quotient(x, Exp(-x)) }

// GELUTanh returns the approximation of [GELU] with tanh.
func GELUTanh[T Float](x T) T { return Quotient(x, Exp(GELUTanhArgument(x))) }

// GELUTanhArgument returns the u for which GELUTanh is x / (1 + exp(u)). (1 + tanh v) / 2 is the
// sigmoid of 2v, which keeps its digits where the sum loses them.
func GELUTanhArgument[T Float](x T) T {
	return x * (-1.5957691216057308 + -0.07135481627260025*(x*x))
}

// Quotient returns a / (1 + e), for an e that is not negative. For float32, it multiplies by the
// reciprocal, with an error of 1 ulp and a rounding. A division has a slow path, and so would the
// reciprocal of a number above 2^126, but not that of a quarter.
func Quotient[T Float](a, e T) T {
	switch p := any(&e).(type) {
	case *float32:
		return T(gpu.ApproxRcpFTZ(num.FMA(*p, 0.25, 0.25))) * (a * 0.25)
	}
	return a / (1 + e)
}

// GELU returns x·Φ(x) = x·erfc(-x/√2)/2.
func GELU[T Float](x T) T {
	const root = 0.707106781186547524400844362104849039284835937688474036588339869
	var high, low T = root, 1.21016171e-8
	if _, ok := any(x).(float64); ok {
		low = -4.833646656726457e-17
	}
	a := -x * high
	r := erfc(a)
	// erfc multiplies the relative rounding error of a by up to 2a². If a+l is exact, then erfc(a+l) is
	// about erfc(a)·(1 - l·(a + √(a²+1.4))).
	if a > 0 && a < 30 {
		l := num.FMA(-x, high, -a) - x*low
		r -= r * l * (a + T(gpu.ApproxSqrt(float32(a*a)+1.4)))
	}
	return x * (r / 2)
}
