package math32

import "github.com/purecuda/cuda/ptx/num"

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
	a := abs(x)
	if a < 0.5 {
		return 1 - erfSmall(x)
	}
	a = num.Min(a, 11)
	d := a + 2
	t := float32((a - 2) * rcp(d))
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
	r := rcp(d)
	v := float32(g * r)
	vl := float32((fma(-v, dl, fma(-v, d, g)) + gl) * r)
	s := float32(a * a)
	h, l, half := expParts(-s, -fma(a, a, -s))
	v = fma(v, h, fma(v, l, float32(vl*h)))
	v = float32(float32(v*half) * half)
	if x != x {
		return x
	}
	if x < 0 {
		return 2 - v
	}
	return v
}
