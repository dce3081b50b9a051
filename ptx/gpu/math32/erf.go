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
	if a < 0.92 {
		return erfSmall(x)
	}
	if a > 4 {
		a = 4
	}
	p := fma(erfTailC6, a, erfTailC5)
	p = fma(p, a, erfTailC4)
	p = fma(p, a, erfTailC3)
	p = fma(p, a, erfTailC2)
	p = fma(p, a, erfTailC1)
	p = fma(p, a, erfTailC0)
	return withSign(1-ex2(p), x)
}

// Erfc returns 1 minus the error function of x. It is accurate for large x.
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
