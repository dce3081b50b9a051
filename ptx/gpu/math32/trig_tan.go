package math32

import "math"

// Tan returns the tangent of x radians.
func Tan(x float32) float32 {
	r, rl, q := reducePair(x)
	s := float32(r * r)
	p := fma(tanC5, s, tanC4)
	p = fma(p, s, tanC3)
	p = fma(p, s, tanC2)
	p = fma(p, s, tanC1)
	p = fma(p, s, tanC0)
	// tan(r+rl) = r + (r³·p + rl·(1 + r²) + …).
	c := fma(float32(p*s), r, fma(rl, s, rl))
	t := r + c
	if q&1 == 0 {
		if r == 0 {
			return r // keeps the sign of a zero
		}
		return t
	}
	// -1/(t+c), with one of Newton's iterations.
	c -= t - r
	y := -rcp(t)
	return fma(fma(t, y, fma(c, y, 1)), y, y)
}

// reducePair returns q and the sum r+rl = x - q·π/2. Only the last two bits of q are right.
func reducePair(x float32) (r, rl float32, q uint32) {
	if abs(x) > reduceLimit {
		return reduceLarge(x)
	}
	t := fma(x, twoOverPi, magic)
	n := t - magic
	a := fma(-n, halfPi, x)
	r = fma(-n, halfPiMid, a)
	// a-r may not be exact.
	d := a - r
	rl = fma(-n, halfPiMid, d) + ((a - d) - r)
	rl = fma(-n, halfPiLow, rl)
	return r, rl, math.Float32bits(t)
}

// Sinpi returns the sine of π·x. The result for an integer is a zero with the sign of x.
func Sinpi(x float32) float32 {
	r, q := reducePi(x)
	if r == 0 && q&1 == 0 {
		return withSign(0, x)
	}
	return sinQuadrant(r, q)
}

// Cospi returns the cosine of π·x. The result for an integer plus a half is +0.
func Cospi(x float32) float32 {
	r, q := reducePi(x)
	if r == 0 && q&1 != 0 {
		return 0
	}
	return sinQuadrant(r, q+1)
}

// reducePi returns π·(x - q/2). Only the last two bits of q are right.
func reducePi(x float32) (r float32, q uint32) {
	// The remainder of a division by 2 is exact.
	y := fma(-2, Trunc(0.5*x), x)
	t := fma(2, y, magic)
	y = fma(-0.5, t-magic, y)
	const pi, piLow = 0x1.921fb6p+01, -0x1.777a5cp-24
	return fma(y, pi, float32(y*piLow)), math.Float32bits(t)
}
