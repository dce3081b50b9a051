// Package mathtest lists the functions of ptx/gpu/math and ptx/gpu/math32 with exact references,
// and measures errors. Tests on the host and on devices use the same lists.
package mathtest

import (
	_ "embed"
	"math"
	"math/big"
)

// Errors is the source of ULP32. Kernels that measure errors are compiled with it.
//
//go:embed ulp.go
var Errors []byte

// ULP32 returns the distance between got and the exact result want, in units of the float32 spacing
// at want. It returns infinity if only one of them is a NaN, if signs of zeros or infinities differ,
// or if got is infinite and want is not rounded to infinity.
func ULP32(got float32, want float64) float64 {
	rounded := float32(want)
	switch {
	case math.Float32bits(got) == math.Float32bits(rounded) && (rounded == 0 || math.IsInf(float64(rounded), 0)):
		return 0
	case got != got && want != want:
		return 0
	case got != got || want != want:
		return math.Inf(1)
	case want == 0:
		return math.Inf(1)
	case math.IsInf(want, 0):
		return math.Inf(1)
	case math.IsInf(float64(got), 0):
		got64 := math.Copysign(0x1p128, float64(got))
		return math.Abs(got64-want) / 0x1p104
	}
	e := max(exponent(want), -126)
	return math.Abs(float64(got)-want) * power(23-min(e, 127))
}

// exponent returns e such that 2^e <= |x| < 2^(e+1). For zero and subnormal numbers, it returns a
// small number.
func exponent(x float64) int { return int(math.Float64bits(x)>>52&0x7ff) - 1023 }

func power(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// ULP64 returns the distance between got and the exact result want, in units of the float64 spacing
// at want. want must have more than 64 bits of precision.
func ULP64(got float64, want *big.Float) float64 {
	if got != got {
		return math.Inf(1)
	}
	rounded, _ := want.Float64()
	if rounded == 0 || math.IsInf(rounded, 0) || want.Sign() == 0 {
		if math.Float64bits(got) == math.Float64bits(rounded) {
			return 0
		}
	}
	if want.Sign() == 0 {
		return math.Inf(1)
	}
	e := max(want.MantExp(nil)-1, -1022)
	if math.IsInf(got, 0) {
		got, e = math.Copysign(math.MaxFloat64, got), min(e, 1023)
	}
	d := new(big.Float).SetPrec(want.Prec()).SetFloat64(got)
	d.Sub(d, want)
	f, _ := d.SetMantExp(d, 52-min(e, 1023)).Float64()
	return math.Abs(f)
}
