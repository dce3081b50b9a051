package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float32) float32 {
	// Both results are computed for |x|, because a branch on which the threads of a warp diverge costs
	// more. One sign for both, and s·P before the product with |x|, made it a fifth faster on an H100.
	a := abs(x)
	// tanh a = 1 - 2/(1+e^2a). If e^2a overflows, the quotient is 0. The quotient grows as a decreases,
	// and its error with it. For a below 0.9, the error of the result could exceed 2 ulp.
	e := ex2Normal(float32(a * (2 * log2e)))
	large := fma(rcpNormal(e+1), -2, 1)
	s := float32(x * x)
	p := fma(tanhC5, s, tanhC4)
	p = fma(p, s, tanhC3)
	p = fma(p, s, tanhC2)
	p = fma(p, s, tanhC1)
	p = fma(p, s, tanhC0)
	r := fma(float32(p*s), a, a)
	if a >= 0.98 {
		r = large
	}
	return withSign(r, x)
}

// expm1Polynomial returns (e^r - 1 - r)/r².
func expm1Polynomial(r float32) float32 {
	p := fma(expm1C4, r, expm1C3)
	p = fma(p, r, expm1C2)
	p = fma(p, r, expm1C1)
	return fma(p, r, expm1C0)
}

// coshParts returns h and 1/h for h = e^a/4. If a is above 89.8, the results are infinity and 0.
func coshParts(a float32) (h, r float32) {
	// Because shift includes 125, the low bits of t are the biased exponent of 2^(n-2). The code below
	// uses a itself, which produces infinity and NaN.
	const shift = magic + 125
	t := fma(num.Min(a, 90), log2e, shift)
	n := t - shift
	f := fma(-n, ln2Low, fma(-n, ln2, a))
	m := fma(fma(expm1Polynomial(f), f, 1), f, 1)
	h = float32(m * math.Float32frombits(math.Float32bits(t)<<23))
	return h, rcpNormal(h)
}

// Sinh returns the hyperbolic sine of x.
func Sinh(x float32) float32 {
	// Both results are computed, because a branch on which the threads of a warp diverge would cost
	// more.
	a := abs(x)
	h, r := coshParts(a)
	v := fma(-0.0625, r, h)
	large := withSign(v+v, x)
	s := float32(x * x)
	p := fma(sinhC2, s, sinhC1)
	p = fma(p, s, sinhC0)
	small := fma(float32(p*s), x, x)
	if a < 1 {
		return small
	}
	return large
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x float32) float32 {
	h, r := coshParts(abs(x))
	v := fma(0.0625, r, h)
	return v + v
}

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(x float32) float32 {
	// asinh a = log1p(a + a²/(1 + √(a²+1))).
	a := abs(x)
	s := float32(a * a)
	z := s + 1
	w := float32(s * rcpNormal(fma(z, rsqrtNormal(z), 1)))
	u := a + w
	return withSign(log1pOrTwice(a, u, w-(u-a)), x)
}

// log1pOrTwice returns log1pPair(x, xl). If a is large, it returns the logarithm of 2a instead.
func log1pOrTwice(a, x, xl float32) float32 {
	large := a > 0x1p30
	if large {
		x, xl = a, 0
	}
	r := log1pPair(x, xl)
	if large {
		r += ln2Rounded
	}
	if a == inf() {
		r = a
	}
	return r
}

const ln2Rounded = 0x1.62e43p-01

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh(x float32) float32 {
	// acosh x = log1p(t + √w) with t = x-1 and w = t²+2t. If w is 0, y is a large number, and s is 0.
	t := x - 1
	w := fma(t, t, t+t)
	y := rsqrtNormal(num.Max(w, 0x1p-100))
	half := 0.5 * y
	s := float32(w * y)
	s = fma(fma(-s, s, w), half, s)
	// t+sl+s is the sum, corrected by the error of s.
	sl := float32(fma(-s, s, w) * half)
	u := s + t
	r := log1pOrTwice(x, u, t-(u-s)+sl)
	if x < 1 {
		r = nan()
	}
	return r
}

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh(x float32) float32 {
	// atanh a = log1p(u)/2 with u = 2a/(1-a).
	a := abs(x)
	d := 1 - a
	dl := (1 - d) - a
	r := rcpNormal(d)
	u := float32((a + a) * r)
	u = fma(fma(-u, dl, fma(-u, d, a+a)), r, u)
	f, fl, _, e := split1p(u)
	v := 0.5 * logSplit(f, fl, e)
	if a == 1 {
		v = inf()
	}
	if a > 1 {
		v = nan()
	}
	return withSign(v, x)
}
