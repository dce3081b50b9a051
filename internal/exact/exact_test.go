package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestAgainstPackageMath compares every function with Go's package math, whose error is a few
// units in the last place.
func TestAgainstPackageMath(t *testing.T) {
	positive := func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() * 10) }
	unit := func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }
	wide := func(r *rand.Rand) float64 { return r.NormFloat64() * math.Exp(3*r.NormFloat64()) }
	small := func(r *rand.Rand) float64 { return r.NormFloat64() * 4 }
	for _, f := range []struct {
		name  string
		exact func(*big.Float) *big.Float
		near  func(float64) float64
		draw  func(*rand.Rand) float64
	}{
		{"exp", Exp, math.Exp, wide}, {"expm1", Expm1, math.Expm1, wide}, {"exp2", Exp2, math.Exp2, wide},
		{"log", Log, math.Log, positive}, {"log1p", Log1p, math.Log1p, positive},
		{"log2", Log2, math.Log2, positive}, {"log10", Log10, math.Log10, positive},
		{"sin", Sin, math.Sin, wide}, {"cos", Cos, math.Cos, wide}, {"tan", Tan, math.Tan, wide},
		{"asin", Asin, math.Asin, unit}, {"acos", Acos, func(x float64) float64 { return 2 * math.Asin(math.Sqrt((1-x)/2)) }, unit}, {"atan", Atan, math.Atan, wide},
		{"sinh", Sinh, math.Sinh, small}, {"cosh", Cosh, math.Cosh, small}, {"tanh", Tanh, math.Tanh, small},
		{"asinh", Asinh, math.Asinh, wide}, {"atanh", Atanh, math.Atanh, unit},
		{"acosh", Acosh, math.Acosh, func(r *rand.Rand) float64 { return 1 + positive(r) }},
		{"erf", Erf, math.Erf, small}, {"erfc", Erfc, math.Erfc, small},
		{"cbrt", Cbrt, math.Cbrt, wide}, {"sqrt", Sqrt, math.Sqrt, positive},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			x := f.draw(r)
			got, _ := f.exact(New(100, x)).Float64()
			want := f.near(x)
			if math.IsInf(want, 0) || math.Abs(want) < 1e-300 {
				continue
			}
			if math.Abs(got-want) > 4e-15*math.Abs(want) {
				t.Fatalf("%s(%v): got %v, want %v", f.name, x, got, want)
			}
		}
	}
}

// TestMorePrecisionAgrees checks that a result with 120 bits is the rounded result with 300 bits.
func TestMorePrecisionAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, f := range []func(*big.Float) *big.Float{Exp, Expm1, Exp2, Log1p, Sin, Cos, Tan, Atan, Sinh, Cosh,
		Tanh, Asinh, Erf, Erfc, Cbrt, SinPi, CosPi} {
		for range 100 {
			x := math.Abs(r.NormFloat64()) * math.Exp(r.NormFloat64())
			got, want := f(New(120, x)), f(New(300, x))
			d := at(300).Sub(got, want)
			if d.Sign() != 0 && exponent(d) > exponent(want)-118 {
				t.Fatalf("function %d of %v: %v and %v", i, x, got, want)
			}
		}
	}
}

func BenchmarkExact(b *testing.B) {
	x := New(110, 1.2345)
	for name, f := range map[string]func(*big.Float) *big.Float{"exp": Exp, "log": Log, "sin": Sin, "atan": Atan, "erfc": Erfc, "erf": Erf} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				f(x)
			}
		})
	}
}
