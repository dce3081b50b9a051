package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

const (
	log2e    = 1 / math.Ln2 // rounded to float32: 0x1.715476p+00
	log2eLow = 0x1.4ae0cp-26
	ln2      = 0x1.62e42ep-01
	ln2Low   = 0x1.efa39ep-25
)

// Exp returns e to the power of x.
func Exp(x float32) float32 {
	// Because shift includes 127, the low bits of t are the biased exponent of 2^n. The
	// multiply-add maps x·log2(e) from the range -126 to 127 to the range 0 to 1. Saturate then
	// limits it without an additional instruction.
	const shift = magic + 127
	part := gpu.Saturate(fma(x, log2e/253, 126.0/253))
	t := gpu.FMARound(part, 253, shift-126, gpu.ToNegativeInf)
	n := t - shift
	// e^x = 2^n·2^r, with r between 0 and 1. If n was limited, r is outside this range, and 2^r
	// becomes infinite or tiny.
	r := fma(x, log2eLow, fma(x, log2e, -n))
	return float32(ex2Normal(r) * math.Float32frombits(math.Float32bits(t)<<23))
}

// Exp2 returns 2 to the power of x.
func Exp2(x float32) float32 {
	r, scale := exp2Parts(x)
	return float32(ex2Normal(r) * scale)
}

// exp2Parts returns r and scale such that 2^x = 2^r·scale. The number r is negative only if the result
// is subnormal. For a negative argument, ex2.approx is less accurate: on an H200, the arguments -7.1875
// and 10.8125 have equal fractions, but the significands of the results differ by 2 ulp.
func exp2Parts(x float32) (r, scale float32) {
	// Because shift includes 127, the low bits of t are the biased exponent of 2^n. For a negative x, n
	// is x rounded down, but at least -126. Otherwise n is 0. The product is rounded up, so that n is
	// never too large.
	const shift = magic + 127
	part := gpu.Saturate(gpu.MulRound(x, -1.0/126, gpu.ToPositiveInf))
	t := gpu.FMARound(part, -126, shift, gpu.ToNegativeInf)
	n := t - shift
	return x - n, math.Float32frombits(math.Float32bits(t) << 23)
}

// Expm1 returns e to the power of x, minus 1. It is accurate even if x is close to zero.
func Expm1(x float32) float32 {
	// Because shift includes 126, the low bits of t are the biased exponent of 2^(n-1). Above 89, x
	// itself produces infinity.
	const shift = magic + 126
	t := fma(num.Min(x, 89), log2e, shift)
	n, half := t-shift, math.Float32frombits(math.Float32bits(t)<<23)
	small := abs(x) < 0.3
	if small {
		n = 0
	}
	r := fma(n, -ln2Low, fma(n, -ln2, x))
	e := fma(expm1Polynomial(r), float32(r*r), r)
	// The largest n is 128, so the result is computed from half of 2^n.
	h := fma(half, e, half-0.5)
	v := h + h
	if small {
		v = withSign(abs(e), x)
	}
	if x < -25 {
		v = -1
	}
	return v
}
