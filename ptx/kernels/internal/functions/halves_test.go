package functions

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/num"
)

// format is a type of 16 bits: its precision, its smallest exponent, and its conversions.
type format struct {
	name        string
	digits, low int
	widen       func(bits uint16) float32
	rounded     func(x float32) float32
}

var formats = []format{
	{"f16", 11, -14, func(b uint16) float32 { return num.F16FromBits(b).Float32() }, func(x float32) float32 { return num.ToF16(x).Float32() }},
	{"bf16", 8, -126, func(b uint16) float32 { return num.BF16FromBits(b).Float32() }, func(x float32) float32 { return num.ToBF16(x).Float32() }},
}

// ulp returns the distance between numbers of the format near x.
func (f *format) ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, f.low)-f.digits+1)
}

// The error is at most 0.51 ulp for every number. The instructions of devices are not rounded correctly as those of
// the host are, but their errors are below 0.001 ulp.
func TestHalvesOfEveryNumber(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, f := range []struct {
		name string
		got  func(x float32) float32
		want func(x float64) float64
	}{
		{"exp", HalfExp, math.Exp},
		{"sigmoid", func(x float32) float32 { return Quotient(1, HalfSigmoidExp(x)) }, sigmoid},
		{"silu", func(x float32) float32 { return Quotient(x, HalfSigmoidExp(x)) }, func(x float64) float64 { return x * sigmoid(x) }},
		{"gelu tanh", func(x float32) float32 { return Quotient(x, HalfGELUTanhExp(x)) }, func(x float64) float64 {
			return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
		}},
		{"gelu", HalfGELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }},
		{"tanh", HalfTanh, math.Tanh},
		{"log", HalfLog, math.Log},
		{"rsqrt", HalfRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	} {
		for _, of := range formats {
			worst := 0.0
			for b := range 1 << 16 {
				x := of.widen(uint16(b))
				got, want := float64(of.rounded(f.got(x))), f.want(float64(x))
				switch {
				case want != want || got != got:
					if want == want || got == got {
						t.Errorf("%s of %s %v is %v, want %v", f.name, of.name, x, got, want)
					}
				case math.IsInf(float64(of.rounded(float32(want))), 0):
					if got != float64(of.rounded(float32(want))) {
						t.Errorf("%s of %s %v is %v, want %v", f.name, of.name, x, got, want)
					}
				case got == 0 && f.name != "gelu" && math.Abs(want) < math.Max(1, math.Abs(float64(x)))*0x1p-127: // see kernels.SiLU
				default:
					worst = max(worst, math.Abs(got-want)/of.ulp(want))
				}
			}
			if t.Logf("%s of %s: %.4f ulp", f.name, of.name, worst); !(worst <= 0.51) {
				t.Errorf("%s of %s has an error of %.4f ulp", f.name, of.name, worst)
			}
		}
	}
}

// GELU of float32 has a bound of 8 ulp, to which the instructions of devices add up to about 2.
func TestErrorOfGELU(t *testing.T) {
	worst := 0.0
	for b := uint32(0); b < 0x7f800000; b += 4999 {
		for _, x := range [2]float32{math.Float32frombits(b), -math.Float32frombits(b)} {
			want := float64(x) * math.Erfc(-float64(x)/math.Sqrt2) / 2
			_, e := math.Frexp(want)
			off := math.Abs(float64(GELU(x))-want) / math.Ldexp(1, max(e, -125)-24)
			if worst = max(worst, off); !(off <= 5) {
				t.Errorf("GELU(%v) is %v, want %v: %.2f ulp", x, GELU(x), want, off)
			}
		}
	}
	t.Logf("%.2f ulp", worst)
	for x, want := range map[float32]float32{float32(math.Inf(1)): float32(math.Inf(1)), math.MaxFloat32: math.MaxFloat32, -math.MaxFloat32: 0, 0: 0} {
		if got := GELU(x); got != want {
			t.Errorf("GELU(%v) is %v, want %v", x, got, want)
		}
	}
}
