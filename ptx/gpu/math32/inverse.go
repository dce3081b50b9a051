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

// Asin returns the inverse sine of x, in radians.
func Asin(x float32) float32 {
	a := abs(x)
	if a <= 0.56 {
		return fma(asinSeries(float32(x*x)), x, x)
	}
	// asin a = π/2 - 2·asin(√((1-a)/2)).
	z := fma(-0.5, a, 0.5)
	s := num.Sqrt(z)
	t := fma(-2, float32(asinSeries(z)*s), halfPiLow32)
	h := fma(-2, s, math.Pi/2)
	return withSign(h+(t+fma(-2, s, math.Pi/2-h)), x)
}

// Acos returns the inverse cosine of x, in radians.
func Acos(x float32) float32 {
	a := abs(x)
	if a <= 0.56 {
		t := fma(asinSeries(float32(x*x)), x, x)
		return math.Pi/2 - t + halfPiLow32
	}
	z := fma(-0.5, a, 0.5)
	s := num.Sqrt(z)
	t := fma(asinSeries(z), s, s)
	if x > 0 {
		return t + t
	}
	return fma(-2, t, math.Pi) + 2*halfPiLow32
}

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
		// For larger numbers, the result is the same. An iteration of Newton's method corrects rcp.
		if a > 0x1p60 {
			a = 0x1p60
		}
		t = rcpNormal(a)
		t = fma(fma(-a, t, 1), t, t)
	}
	r := atanUnit(t)
	if a > 1 {
		r = (math.Pi/2 - r) + halfPiLow32
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
