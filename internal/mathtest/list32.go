package mathtest

import (
	"math"
	"math/rand/v2"

	gpumath "github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// A Unary32 is a function of one float32 value.
type Unary32 struct {
	Name string
	F    func(float32) float32
	// Exact computes the result with an error that is negligible for a float32.
	Exact func(float64) float64
	// Bound is the documented error bound in ulps.
	Bound float64
}

// Unary32s lists the functions of math32 with one argument. Functions with two results occur twice.
var Unary32s = []Unary32{
	{"Exp", math32.Exp, gpumath.Exp, 2},
	{"Exp2", math32.Exp2, gpumath.Exp2, 2},
	{"Expm1", math32.Expm1, gpumath.Expm1, 2},
	{"Log", math32.Log, gpumath.Log, 2},
	{"Log2", math32.Log2, gpumath.Log2, 2},
	{"Log10", math32.Log10, gpumath.Log10, 2},
	{"Log1p", math32.Log1p, gpumath.Log1p, 2},
	{"Sin", math32.Sin, gpumath.Sin, 2},
	{"Cos", math32.Cos, gpumath.Cos, 2},
	{"Tan", math32.Tan, gpumath.Tan, 2},
	{"Sinpi", math32.Sinpi, gpumath.Sinpi, 2},
	{"Cospi", math32.Cospi, gpumath.Cospi, 2},
	{"Asin", math32.Asin, gpumath.Asin, 2},
	{"Acos", math32.Acos, gpumath.Acos, 2},
	{"Atan", math32.Atan, gpumath.Atan, 2},
	{"Sinh", math32.Sinh, gpumath.Sinh, 2},
	{"Cosh", math32.Cosh, gpumath.Cosh, 2},
	{"Tanh", math32.Tanh, gpumath.Tanh, 2},
	{"Asinh", math32.Asinh, gpumath.Asinh, 2},
	{"Acosh", math32.Acosh, gpumath.Acosh, 2},
	{"Atanh", math32.Atanh, gpumath.Atanh, 2},
	{"Erf", math32.Erf, gpumath.Erf, 2},
	{"Erfc", math32.Erfc, gpumath.Erfc, 2},
	{"Cbrt", math32.Cbrt, gpumath.Cbrt, 2},
	{"Rcbrt", math32.Rcbrt, gpumath.Rcbrt, 2},
	{"Sqrt", math32.Sqrt, math.Sqrt, 0.5},
	{"Rsqrt", math32.Rsqrt, gpumath.Rsqrt, 2},
	{"Round", math32.Round, math.Round, 0},
	{"RoundToEven", math32.RoundToEven, math.RoundToEven, 0},
	{"Floor", math32.Floor, math.Floor, 0},
	{"Ceil", math32.Ceil, math.Ceil, 0},
	{"Trunc", math32.Trunc, math.Trunc, 0},
	{"Logb", math32.Logb, math.Logb, 0},
	{"Modf, whole", first(math32.Modf), first(math.Modf), 0},
	{"Modf, fraction", second(math32.Modf), second(math.Modf), 0},
	{"Frexp, fraction", func(x float32) float32 { f, _ := math32.Frexp(x); return f },
		func(x float64) float64 { f, _ := math.Frexp(x); return f }, 0},
	{"Frexp, exponent", func(x float32) float32 { _, e := math32.Frexp(x); return float32(e) },
		func(x float64) float64 { _, e := math.Frexp(x); return float64(e) }, 0},
	{"Ilogb", func(x float32) float32 { return float32(math32.Ilogb(x)) },
		func(x float64) float64 { return float64(float32(math.Ilogb(x))) }, 0},
	{"Sincos, sine", first(math32.Sincos), gpumath.Sin, 2},
	{"Sincos, cosine", second(math32.Sincos), gpumath.Cos, 2},
}

func first[T float32 | float64](f func(T) (a, b T)) func(T) T {
	return func(x T) T { a, _ := f(x); return a }
}

func second[T float32 | float64](f func(T) (a, b T)) func(T) T {
	return func(x T) T { _, b := f(x); return b }
}

// A Binary32 is a function of two float32 values.
type Binary32 struct {
	Name  string
	F     func(x, y float32) float32
	Exact func(x, y float64) float64
	Bound float64
}

// Binary32s lists the functions of math32 with two arguments.
var Binary32s = []Binary32{
	{"Pow", math32.Pow, gpumath.Pow, 2},
	{"Atan2", math32.Atan2, gpumath.Atan2, 2},
	{"Hypot", math32.Hypot, gpumath.Hypot, 2},
	{"Mod", math32.Mod, math.Mod, 0},
	{"Remainder", math32.Remainder, math.Remainder, 0},
	{"Max", math32.Max, math.Max, 0},
	{"Min", math32.Min, math.Min, 0},
	{"Dim", math32.Dim, math.Dim, 0.5},
	{"Nextafter", math32.Nextafter, func(x, y float64) float64 {
		return float64(math.Nextafter32(float32(x), float32(y)))
	}, 0},
	{"Copysign", math32.Copysign, math.Copysign, 0},
	{"Ldexp", func(x, y float32) float32 { return math32.Ldexp(x, toInt(float64(y))) },
		func(x, y float64) float64 { return math.Ldexp(x, toInt(y)) }, 0.5},
}

// DrawPair32 returns two random arguments.
func DrawPair32(r *rand.Rand) (x, y float32) {
	switch r.IntN(8) {
	case 0:
		return math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
	case 1, 2: // arguments for which a power is likely to be finite
		x = math.Float32frombits(r.Uint32() >> 1)
		return x, float32((2*r.Float64() - 1) * 106 / math.Log(float64(x)))
	case 3:
		x = float32(1 + math.Ldexp(r.Float64()-0.5, -r.IntN(22)))
		return x, float32((2*r.Float64() - 1) * 106 / math.Log(float64(x)))
	}
	a, b := DrawPair64(r)
	return float32(a), float32(b)
}

// Special32 lists the arguments for which functions have special results, and their neighbors.
func Special32() []float32 {
	var list []float32
	for _, x := range []float32{
		0, 0x1p-149, 0x1p-126, 0x1p-100, 0x1p-24, 0x1p-12, 0.25, 0.5, 1, 1.5, 2, 3, 4, 10, 27, 88.72284, 103.97208, 127, 128,
		149, 150, 0x1p23, 0x1p24, 0x1p31, 0x1p64, math.MaxFloat32, float32(math.Inf(1)), math.Pi, math.Pi / 2, math.Pi / 4, math.E,
	} {
		for _, y := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, float32(math.Inf(1)))} {
			list = append(list, y, -y)
		}
	}
	return append(list, float32(math.NaN()), float32(math.Copysign(0, -1)))
}
