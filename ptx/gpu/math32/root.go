package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// Sqrt returns the correctly rounded square root of x.
func Sqrt(x float32) float32 { return num.Sqrt(x) }

// Rsqrt returns 1 divided by the square root of x.
func Rsqrt(x float32) float32 {
	// One iteration of Newton's method: y += y·(1 - x·y²)/2.
	y := rsqrt(x)
	e := fma(-float32(x*y), y, 1)
	r := fma(0.5*y, e, y)
	// If x is 0 or infinite, e is a NaN, and y is already the result.
	if abs(e) < 1 {
		return r
	}
	return y
}

// Cbrt returns the cube root of x.
func Cbrt(x float32) float32 {
	a := abs(x)
	scale := float32(1)
	if a < 0x1p-100 {
		a, scale = float32(a*0x1p48), 0x1p-16
	}
	// One iteration of Newton's method, with the approximation r of 1/t²: t -= (t³ - a)·r/3.
	r := ex2Normal(float32(lg2Normal(a) * (-2.0 / 3)))
	t := float32(a * r)
	d := fma(float32(t*t), -t, a)
	t = float32(fma(float32(d*r), 1.0/3, t) * scale)
	if a == 0 || !(a < inf()) {
		return x
	}
	return withSign(t, x)
}

// Rcbrt returns 1 divided by the cube root of x.
func Rcbrt(x float32) float32 {
	a := abs(x)
	scale := float32(1)
	if a < 0x1p-100 {
		a, scale = float32(a*0x1p48), 0x1p16
	}
	t := ex2Normal(float32(lg2Normal(a) * (-1.0 / 3)))
	// One iteration of Newton's method: t += t·(1 - a·t³)/3.
	e := fma(-float32(a*t), float32(t*t), 1)
	r := fma(float32(t*(1.0/3)), e, t)
	// For a zero or an infinity, e is a NaN and t is right.
	if abs(e) < 1 {
		t = r
	}
	return withSign(float32(t*scale), x)
}

// Hypot returns the square root of p²+q². The squares do not overflow.
func Hypot(p, q float32) float32 {
	a, b := abs(p), abs(q)
	a, b = num.Max(a, b), num.Min(a, b)
	// The scale is a power of 16 that brings a close to 1.
	e := math.Float32bits(a) & 0xfe000000
	scale := math.Float32frombits(0x7e800000 - e)
	sa, sb := float32(a*scale), float32(b*scale)
	w := fma(sa, sa, float32(sb*sb))
	r := rsqrtNormal(w)
	s := float32(w * r)
	s = fma(fma(-s, s, w), 0.5*r, s)
	v := float32(s * math.Float32frombits(0x00800000+e))
	switch {
	case a == inf():
		return a
	case p != p || q != q:
		return nan()
	case a == 0:
		return 0
	}
	return v
}
