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

// GELU returns x·Φ(x).
func GELU[T Float](x T) T { return choose(x, gelu32, gelu64) }

// gelu32 has an error of at most 6 ulp.
func gelu32(x float32) float32 {
	// For a = |x|, Φ(-a) is e^(-a²/2) times a polynomial of 1/(1+0.296875a), whose relative error is at most 2^-24.5
	// for a up to 14.5. Beyond, the result is x or 0.
	a := num.Min(num.Abs(x), 15)
	// The result depends so much on the reciprocal t that it is corrected by its error, and by that of d.
	d := num.FMA(a, 0.296875, 1)
	t := gpu.ApproxRcpFTZ(d)
	t = num.FMA(t, num.FMA(-num.FMA(a, 0.296875, 1-d), t, num.FMA(-d, t, 1)), t)
	p := num.FMA(t, 0x1.4153bp-05, -0x1.6e3a22p-03)
	p = num.FMA(p, t, 0x1.0650b8p-02)
	p = num.FMA(p, t, -0x1.a42856p-04)
	p = num.FMA(p, t, 0x1.42eed8p-03)
	p = num.FMA(p, t, 0x1.6a221cp-04)
	p = num.FMA(p, t, 0x1.f2d658p-04)
	p = num.FMA(p, t, 0x1.e3cbe4p-04)
	p = num.FMA(p, t, 0x1.bbbffap-17)
	// 2^(y+l) is e^(-a²/2). l is what y lacks.
	const c, low = 0x1.715476p-01, 0x1.4ae0cp-27 // 1/(2 ln 2)
	s := float32(a * a)
	y := float32(s * -c)
	l := num.FMA(num.FMA(a, a, -s), -c, num.FMA(s, -low, num.FMA(s, -c, -y)))
	r := float32(float32(a*p) * gpu.ApproxExp2(y))
	r = num.FMA(r, float32(l*math.Ln2), r)
	// The sum is x if x is positive, and otherwise 0, but a NaN for negative infinity.
	return num.FMA(num.Abs(x), 0.5, float32(x*0.5)) - r
}

// gelu64 computes x·erfc(-x/√2)/2.
func gelu64(x float64) float64 {
	const root = 0.707106781186547524400844362104849039284835937688474036588339869
	const low = -4.833646656726457e-17
	a := -x * root
	r := math.Erfc(a)
	// erfc multiplies the relative rounding error of a by up to 2a². If a+l is exact, then erfc(a+l) is
	// about erfc(a)·(1 - l·(a + √(a²+1.4))).
	if a > 0 && a < 30 {
		l := num.FMA(-x, root, -a) - x*low
		r -= r * l * (a + float64(gpu.ApproxSqrt(float32(a*a)+1.4)))
	}
	return x * (r / 2)
}
