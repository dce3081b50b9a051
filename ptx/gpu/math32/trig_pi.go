package math32

import "math"

// Sinpi returns the sine of π·x. If x is an integer, the result is a zero with the sign of x.
func Sinpi(x float32) float32 {
	v := sinpiShifted(x, magic)
	if v == 0 {
		v = withSign(0, x)
	}
	return v
}

// Cospi returns the cosine of π·x. If x is an integer plus one half, the result is +0.
func Cospi(x float32) float32 {
	// Adding 0 turns a negative zero into +0.
	return sinpiShifted(x, magic+1) + 0
}

// sinpiShifted returns the sine of π·(x + (shift-magic)/2).
func sinpiShifted(x, shift float32) float32 {
	// The remainder of the division by 2 is exact. So is the final y, whose magnitude is at most
	// 1/4.
	y := fma(-2, Trunc(0.5*x), x)
	t := fma(2, y, shift)
	y = fma(-0.5, t-shift, y)
	s := float32(y * y)
	p := fma(sinpiC2, s, sinpiC1)
	p = fma(p, s, sinpiC0)
	const pi, piLow = 0x1.921fb6p+01, -0x1.777a5cp-24
	v := fma(y, pi, float32(fma(p, s, piLow)*y))
	// Computing both the sine and the cosine costs less than selecting coefficients.
	p = fma(cospiC3, s, cospiC2)
	p = fma(p, s, cospiC1)
	p = fma(p, s, cospiC0)
	return quadrant(v, fma(p, s, 1), math.Float32bits(t))
}
