package unary

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

type float interface{ float32 | float64 }

// choose applies the function for the type of x.
func choose[T float](x T, single func(float32) float32, double func(float64) float64) T {
	switch p := any(&x).(type) {
	case *float32:
		*p = single(*p)
	case *float64:
		*p = double(*p)
	}
	return x
}

func exp[T float](x T) T   { return choose(x, math32.Exp, math.Exp) }
func log[T float](x T) T   { return choose(x, math32.Log, math.Log) }
func tanh[T float](x T) T  { return choose(x, math32.Tanh, math.Tanh) }
func rsqrt[T float](x T) T { return choose(x, math32.Rsqrt, math.Rsqrt) }
func erfc[T float](x T) T  { return choose(x, math32.Erfc, math.Erfc) }

// quotient returns a / b. For float32, it multiplies by the reciprocal, with an error of 1 ulp and a
// rounding, which avoids the slow path of a division.
func quotient[T float](a, b T) T {
	switch p := any(&b).(type) {
	case *float32:
		return a * T(gpu.ApproxRcp(*p))
	}
	return a / b
}

// gelu returns x·Φ(x) = x·erfc(-x/√2)/2.
func gelu[T float](x T) T {
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
