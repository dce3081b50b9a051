package mathtest

import (
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/purecuda/cuda/internal/exact"
	gpumath "github.com/purecuda/cuda/ptx/gpu/math"
)

// A Binary64 is a function of two float64 values.
type Binary64 struct {
	Name string
	F    func(x, y float64) float64
	// A NaN, an infinity or a zero that Std returns is correct. If Exact is nil, every
	// result of Std is correct.
	Std func(x, y float64) float64
	// Exact is only called for finite, nonzero arguments. It returns nil where the result of Std is
	// correct.
	Exact func(x, y *big.Float) *big.Float
	Bound float64
}

// Binary64s lists the functions of package math with two arguments.
var Binary64s = []Binary64{
	{"Pow", gpumath.Pow, math.Pow, pow, 1},
	{"Atan2", gpumath.Atan2, math.Atan2, atan2, 1},
	{"Hypot", gpumath.Hypot, math.Hypot, hypot, 1},
	{"Mod", gpumath.Mod, math.Mod, nil, 0},
	{"Remainder", gpumath.Remainder, math.Remainder, nil, 0},
	{"Max", gpumath.Max, math.Max, nil, 0},
	{"Min", gpumath.Min, math.Min, nil, 0},
	{"Dim", gpumath.Dim, math.Dim, nil, 0},
	{"Nextafter", gpumath.Nextafter, math.Nextafter, nil, 0},
	{"Copysign", gpumath.Copysign, math.Copysign, nil, 0},
	{"Ldexp", func(x, y float64) float64 { return gpumath.Ldexp(x, toInt(y)) },
		func(x, y float64) float64 { return math.Ldexp(x, toInt(y)) }, nil, 0},
}

func toInt(y float64) int {
	if !(math.Abs(y) < 1e6) {
		return math.MaxInt32
	}
	return int(y)
}

// Error returns the error of f(x, y) in ulps.
func (f Binary64) Error(x, y float64) float64 {
	got, std := f.F(x, y), f.Std(x, y)
	if f.Exact == nil || x == 0 || y == 0 || x-x != 0 || y-y != 0 || std != std {
		return class(got, std)
	}
	want := f.Exact(exact.New(precision, x), exact.New(precision, y))
	if want == nil {
		return class(got, std)
	}
	return ULP64(got, want)
}

func pow(x, y *big.Float) *big.Float {
	a, _ := x.Float64()
	b, _ := y.Float64()
	if a < 0 {
		p := pow(new(big.Float).Neg(x), y)
		if p != nil && math.Mod(b, 2) != 0 {
			p.Neg(p)
		}
		return p
	}
	if e := b * math.Log(a); math.Abs(e) > 760 {
		return nil
	}
	return exact.Pow(x, y)
}

// atan2 uses a higher precision if y/x is small and x is negative.
func atan2(y, x *big.Float) *big.Float { return exact.Atan2(y, x) }

func hypot(x, y *big.Float) *big.Float {
	const enough = 4400
	a := new(big.Float).SetPrec(enough).Mul(x, x)
	b := new(big.Float).SetPrec(enough).Mul(y, y)
	a.Add(a, b)
	return new(big.Float).SetPrec(precision).Sqrt(a.SetPrec(2 * precision))
}

// DrawPair64 returns two random arguments.
func DrawPair64(r *rand.Rand) (x, y float64) {
	x = Draw64(r)
	switch r.IntN(6) {
	case 0: // arguments for which a power is likely to be finite
		return math.Abs(x), (2*r.Float64() - 1) * 760 / math.Log(math.Abs(x))
	case 1:
		return x, float64(r.IntN(200) - 100)
	case 2: // numbers of similar magnitude
		return x, x * (r.Float64() * 2)
	case 3:
		return x, x * math.Exp(40*r.NormFloat64())
	case 4:
		return 1 + math.Ldexp(r.Float64()-0.5, -r.IntN(50)), Draw64(r)
	}
	return x, Draw64(r)
}
