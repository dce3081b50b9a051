package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// asinSeries returns asin(√z)/√z - 1 for z up to 0.3137.
func asinSeries(z float32) float32 {
	p := fma(asinC4, z, asinC3)
	p = fma(p, z, asinC2)
	p = fma(p, z, asinC1)
	p = fma(p, z, asinC0)
	return float32(p * z)
}

// For |x| up to 0.56, asinParts returns the inverse sine of t and small = true. t is x or -x. For other
// x, it returns 2·asin(√((1-|x|)/2)) with the sign of x. This number is the inverse cosine of |x|.
func asinParts(x, t float32) (v float32, small bool) {
	// u = 2-2|x| and w = √u, with one iteration of Newton's method.
	a := abs(x)
	u := fma(-2, a, 2)
	y := rsqrtNormal(u)
	if u == 0 {
		y = 0
	}
	w := float32(u * y)
	w = withSign(fma(fma(-w, 0.5*y, 0.5), w, w), x)
	z := 0.25 * u
	if a <= 0.56 {
		z, w = float32(x*x), t
	}
	return fma(asinSeries(z), w, w), a <= 0.56
}

// Asin returns the inverse sine of x, in radians.
func Asin(x float32) float32 {
	v, small := asinParts(x, x)
	large := withSign(fma(halfPiFactor1, halfPiFactor2, -abs(v)), x)
	if small {
		return v
	}
	return large
}

// Acos returns the inverse cosine of x, in radians.
func Acos(x float32) float32 {
	v, small := asinParts(x, -x)
	// The result is π/2 - asin x if x is small. Otherwise it is acos |x|, or π - acos |x| if x is negative.
	var f float32
	if x < 0 {
		f = 2 * halfPiFactor2
	}
	if small {
		f = halfPiFactor2
	}
	return fma(halfPiFactor1, f, v)
}

// The product is π/2 with an error below 2^-45.
const (
	halfPiFactor1 = 0x1.aee9d6p-01
	halfPiFactor2 = 0x1.ddcb02p+00
)

// halfPiLow32 is the difference between π/2 and its float32 value.
const halfPiLow32 = -0x1.777a5cp-25

// atanUnit returns the inverse tangent of t, for t between 0 and 1.
func atanUnit(t float32) float32 {
	u := float32(t * t)
	p := fma(atanC7, u, atanC6)
	p = fma(p, u, atanC5)
	p = fma(p, u, atanC4)
	p = fma(p, u, atanC3)
	p = fma(p, u, atanC2)
	p = fma(p, u, atanC1)
	p = fma(p, u, atanC0)
	return fma(float32(p*u), t, t)
}

// Atan returns the inverse tangent of x, in radians.
func Atan(x float32) float32 {
	a := abs(x)
	t := a
	if a > 1 {
		t = rcpNormal(a)
	}
	r := atanUnit(t)
	if a > 1 {
		r = fma(halfPiFactor1, halfPiFactor2, -r)
	}
	return withSign(r, x)
}

// Atan2 returns the angle of the point (x, y), in radians between -π and π.
func Atan2(y, x float32) float32 {
	ay, ax := abs(y), abs(x)
	small, large := num.Min(ax, ay), num.Max(ax, ay)
	t := small / large
	if small == large {
		t = 1 // this includes two infinities
	}
	if large == 0 {
		t = 0
	}
	r := atanUnit(t)
	if ay > ax {
		r = (math.Pi/2 - r) + halfPiLow32
	}
	if math.Float32bits(x)&signBit != 0 {
		r = (math.Pi - r) + 2*halfPiLow32
	}
	if x != x || y != y {
		return nan()
	}
	return withSign(r, y)
}
