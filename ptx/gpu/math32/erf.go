package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// erfSmall returns the error function of x, for |x| up to 0.92.
func erfSmall(x float32) float32 {
	u := float32(x * x)
	p := fma(erfC5, u, erfC4)
	p = fma(p, u, erfC3)
	p = fma(p, u, erfC2)
	p = fma(p, u, erfC1)
	p = fma(p, u, erfC0)
	return fma(p, x, x)
}

// Erf returns the error function of x.
func Erf(x float32) float32 {
	a := abs(x)
	// Selecting coefficients is faster than a branch on which the threads of a warp diverge.
	small := !(a >= 0.92)
	a = num.Min(a, 4)
	u, square := a, float32(x*x)
	var c5, c4, c3, c2, c1, c0, last float32 = erfTailC6, erfTailC5, erfTailC4, erfTailC3, erfTailC2, erfTailC1, erfTailC0
	if small {
		u = square
		c5, c4, c3, c2, c1, c0, last = erfC5, erfC4, erfC3, erfC2, erfC1, erfC0, a
	}
	p := fma(c5, u, c4)
	p = fma(p, u, c3)
	p = fma(p, u, c2)
	p = fma(p, u, c1)
	p = fma(p, u, c0)
	r := fma(p, a, last)
	if !small {
		r = 1 - ex2Normal(r)
	}
	return withSign(r, x)
}

// Erfc returns the complementary error function of x, 1 - erf(x). It is accurate for large x.
func Erfc(x float32) float32 {
	// Both results are computed, because a branch on which the threads of a warp diverge would cost
	// more.
	a := num.Min(abs(x), 11)
	d := a + 2
	t := float32((a - 2) * rcpNormal(d))
	p := fma(erfcC9, t, erfcC8)
	p = fma(p, t, erfcC7)
	p = fma(p, t, erfcC6)
	p = fma(p, t, erfcC5)
	p = fma(p, t, erfcC4)
	p = fma(p, t, erfcC3)
	p = fma(p, t, erfcC2)
	p = fma(p, t, erfcC1)
	g := fma(p, t, erfcC0)
	gl := fma(p, t, erfcC0-g)
	// v+vl = (g+gl)/(1+2a).
	d = fma(2, a, 1)
	dl := fma(2, a, 1-d)
	r := rcpNormal(d)
	v := float32(g * r)
	vl := float32((fma(-v, dl, fma(-v, d, g)) + gl) * r)
	v = timesExpOfSquare(v, vl, a)
	if x < 0 {
		v = 2 - v
	}
	small := 1 - erfSmall(x)
	if abs(x) >= 0.5 {
		return v
	}
	return small
}

// timesExpOfSquare returns (v+vl)·e^(-a²), for a between 0 and 11 and |vl| of at most 2 ulp of v.
func timesExpOfSquare(v, vl, a float32) float32 {
	// Because shift includes 191, the low bits of t are the biased exponent of 2^(n+64).
	const shift = magic + 191
	s := float32(a * a)
	sl := fma(a, a, -s)
	t := fma(s, -log2e, shift)
	n := t - shift
	// e^-a² = 2^n·e^f, and h+l = e^f.
	f := fma(-n, ln2, -s) + fma(-n, ln2Low, -sl)
	h := 1 + f
	l := fma(float32(expm1Polynomial(f)*f), f, f-(h-1))
	v = fma(v, h, fma(v, l, float32(vl*h)))
	// The first product is exact.
	return float32(float32(v*math.Float32frombits(math.Float32bits(t)<<23)) * 0x1p-64)
}
