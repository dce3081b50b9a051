package math

import (
	"math"
	"math/bits"
)

// Mod returns the floating-point remainder of x/y, with the sign of x. The result is exact.
func Mod(x, y float64) float64 {
	if y == 0 || x-x != 0 || y != y {
		return math.NaN()
	}
	r, _ := modBits(math.Float64bits(x)&^signBit, math.Float64bits(y)&^signBit)
	return math.Float64frombits(r | math.Float64bits(x)&signBit)
}

// modBits returns the bits of the remainder of x/y, and whether the truncated quotient is odd. The
// arguments are the bits of x and y. Both numbers must be nonnegative, x must be finite, and y must
// not be zero.
func modBits(x, y uint64) (r uint64, odd bool) {
	if x < y {
		return x, false
	}
	mx, ex := significand(x)
	my, ey := significand(y)
	// Compute the remainder of mx·2^(ex-ey), 11 bits at a time.
	n := ex - ey
	q := mx / my
	mx -= q * my
	for n > 0 {
		s := n
		if s > 11 {
			s = 11
		}
		mx <<= uint(s)
		q = mx / my
		mx -= q * my
		n -= s
	}
	odd = q&1 != 0
	if mx == 0 {
		return 0, odd
	}
	shift := bits.LeadingZeros64(mx) - 11
	if shift >= ey {
		shift = ey - 1
	}
	mx <<= uint(shift)
	if mx < 1<<52 {
		return mx, odd // the result is subnormal
	}
	return mx&(1<<52-1) | uint64(ey-shift)<<52, odd
}

// significand returns m and e such that the number with the given bits is m·2^(e-1075).
func significand(b uint64) (m uint64, e int) {
	e = int(b >> 52)
	if e == 0 {
		return b, 1
	}
	return b&(1<<52-1) | 1<<52, e
}

// Remainder returns x - n·y, where n is the integer nearest to x/y, with ties to even. The result is
// exact.
func Remainder(x, y float64) float64 {
	if y == 0 || x-x != 0 || y != y {
		return math.NaN()
	}
	b := math.Float64bits(y) &^ signBit
	m, odd := modBits(math.Float64bits(x)&^signBit, b)
	r, ay := math.Float64frombits(m), math.Float64frombits(b)
	// Compare r with ay-r, because ay/2 may be inexact and 2r may overflow.
	rest := ay - r
	if r > rest || r == rest && odd {
		r = -rest
	}
	if math.Float64bits(x)&signBit != 0 {
		r = -r
	}
	return r
}

// Modf returns the integer and fractional parts of x. Both have the sign of x.
func Modf(x float64) (whole, fraction float64) {
	whole = math.Trunc(x)
	if x-x != 0 {
		if x != x {
			return x, x
		}
		return x, math.NaN()
	}
	return whole, math.Copysign(x-whole, x)
}
