package mathtest

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// A Unary32 is a function of one float32.
type Unary32 struct {
	Name string
	F    func(float32) float32
	// Exact has an error that is negligible for a float32.
	Exact func(float64) float64
	// Bound is the largest error in ulps that the documentation states.
	Bound float64
}

// Unary32s lists the functions of math32 with one argument. Functions with two results occur twice.
var Unary32s = []Unary32{
	{"Exp", math32.Exp, math.Exp, 2},
	{"Exp2", math32.Exp2, math.Exp2, 2},
	{"Expm1", math32.Expm1, math.Expm1, 2},
	{"Log", math32.Log, math.Log, 2},
	{"Log2", math32.Log2, math.Log2, 2},
	{"Log10", math32.Log10, math.Log10, 2},
	{"Sin", math32.Sin, math.Sin, 2},
	{"Cos", math32.Cos, math.Cos, 2},
	{"Tanh", math32.Tanh, math.Tanh, 2},
	{"Sqrt", math32.Sqrt, math.Sqrt, 0.5},
}
