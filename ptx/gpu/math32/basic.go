package math32

import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Limits of float32.
const (
	MaxFloat32             = math.MaxFloat32
	SmallestNonzeroFloat32 = math.SmallestNonzeroFloat32
)

// Abs returns the magnitude of x.
func Abs(x float32) float32 { return abs(x) }

// FMA returns x·y + z, rounded once.
func FMA(x, y, z float32) float32 { return fma(x, y, z) }

// Floor returns the greatest integer value less than or equal to x.
func Floor(x float32) float32 { return gpu.RoundInt(x, gpu.ToNegativeInf) }

// Ceil returns the least integer value greater than or equal to x.
func Ceil(x float32) float32 { return gpu.RoundInt(x, gpu.ToPositiveInf) }

// Trunc returns the integer part of x.
func Trunc(x float32) float32 { return gpu.RoundInt(x, gpu.ToZero) }

// RoundToEven returns the integer nearest to x, with ties to even.
func RoundToEven(x float32) float32 { return gpu.RoundInt(x, gpu.ToNearestEven) }

// Round returns the integer nearest to x, with ties away from zero.
func Round(x float32) float32 {
	t := Trunc(x)
	if abs(x-t) >= 0.5 {
		t += Copysign(1, x)
	}
	return Copysign(t, x)
}

// Copysign returns a value with the magnitude of f and the sign of sign.
func Copysign(f, sign float32) float32 { return withSign(abs(f), sign) }

// Signbit reports whether x is negative or a negative zero.
func Signbit(x float32) bool { return math.Float32bits(x)&signBit != 0 }

// Inf returns positive infinity if sign >= 0, and negative infinity otherwise.
func Inf(sign int) float32 {
	if sign < 0 {
		return -inf()
	}
	return inf()
}

// NaN returns a NaN.
func NaN() float32 { return nan() }

// IsNaN reports whether x is a NaN.
func IsNaN(x float32) bool { return x != x }

// IsInf reports whether x is an infinity with the given sign. If sign is 0, it accepts both
// infinities.
func IsInf(x float32, sign int) bool {
	return sign >= 0 && x > math.MaxFloat32 || sign <= 0 && x < -math.MaxFloat32
}

// Float32bits returns the bits of x.
func Float32bits(x float32) uint32 { return math.Float32bits(x) }

// Float32frombits returns the number that has the given bits.
func Float32frombits(b uint32) float32 { return math.Float32frombits(b) }

// Max returns the larger of its arguments. If one of them is a NaN, the result is a NaN, unless the
// other is positive infinity. +0 is considered larger than -0.
func Max(x, y float32) float32 {
	switch {
	case x == inf() || y == inf():
		return inf()
	case x != x || y != y:
		return nan()
	case x == 0 && y == 0:
		return math.Float32frombits(math.Float32bits(x) & math.Float32bits(y))
	case x > y:
		return x
	}
	return y
}

// Min returns the smaller of its arguments. If one of them is a NaN, the result is a NaN, unless
// the other is negative infinity. -0 is considered smaller than +0.
func Min(x, y float32) float32 { return -Max(-x, -y) }

// Dim returns x-y, or 0 if the difference is negative.
func Dim(x, y float32) float32 {
	d := x - y
	if d <= 0 {
		return 0
	}
	return d
}

// Modf returns the integer and fractional parts of x. Both have the sign of x.
func Modf(x float32) (whole, fraction float32) {
	if x-x != 0 {
		return x, nan()
	}
	whole = Trunc(x)
	return whole, Copysign(x-whole, x)
}

// Frexp returns f and e such that x = f·2^e, where the magnitude of f is at least 0.5 and less than
// 1. If x is zero, infinite or a NaN, it returns x and 0.
func Frexp(x float32) (f float32, e int) {
	if x == 0 || x-x != 0 {
		return x, 0
	}
	if abs(x) < 0x1p-126 {
		x, e = float32(x*0x1p24), -24
	}
	b := math.Float32bits(x)
	return math.Float32frombits(b&^infBits | 126<<23), e + int(b>>23&0xff) - 126
}

// Ldexp returns f·2^e.
func Ldexp(f float32, e int) float32 {
	if f == 0 || f-f != 0 {
		return f
	}
	f, k := Frexp(f)
	switch {
	case e > 1000:
		e = 1000
	case e < -1000:
		e = -1000
	}
	e += k
	switch {
	case e > 128:
		return withSign(inf(), f)
	case e < -149:
		// Half of the smallest subnormal number rounds to zero.
		return Copysign(0, f)
	}
	half := int32(e >> 1)
	return float32(float32(f*powerOf2(half)) * powerOf2(int32(e)-half))
}

// Ilogb returns the binary exponent of x. For zero it returns the smallest int32, and for
// infinities and NaNs the largest int32.
func Ilogb(x float32) int {
	switch {
	case x == 0:
		return math.MinInt32
	case x-x != 0:
		return math.MaxInt32
	}
	_, e := Frexp(x)
	return e - 1
}

// Logb returns the binary exponent of x.
func Logb(x float32) float32 {
	switch {
	case x == 0:
		return -inf()
	case x-x != 0:
		return float32(x * x)
	}
	return float32(Ilogb(x))
}

// Nextafter returns the number adjacent to x in the direction of y.
func Nextafter(x, y float32) float32 {
	switch {
	case x != x || y != y:
		return nan()
	case x == y:
		return x
	case x == 0:
		return withSign(0x1p-149, y)
	case (y > x) == (x > 0):
		return math.Float32frombits(math.Float32bits(x) + 1)
	}
	return math.Float32frombits(math.Float32bits(x) - 1)
}

// Mod returns the floating-point remainder of x/y, with the sign of x. The result is exact.
func Mod(x, y float32) float32 {
	a, b := abs(x), abs(y)
	// The relative error of q is between 0 and 2.5·2^-22, so Trunc(q) is either right or 1 too large.
	// Therefore r and r+b are exact: their magnitudes are at most b, and they are multiples of the
	// distance between adjacent numbers near b.
	q := rcpNormal(b)
	q = float32(a * fma(q, 0x1.8p-22, q))
	if q < 0x1p20 && b < 0x1p126 {
		r := fma(-Trunc(q), b, a)
		if r < 0 {
			r += b
		}
		return withSign(r, x)
	}
	return modLarge(x, y)
}

// modLarge is like Mod, but slower, and works for all arguments.
func modLarge(x, y float32) float32 {
	if y == 0 || x-x != 0 || y != y {
		return nan()
	}
	r, _ := modBits(math.Float32bits(x)&^signBit, math.Float32bits(y)&^signBit)
	return math.Float32frombits(r | math.Float32bits(x)&signBit)
}

// modBits returns the bits of the remainder of x/y, and whether the truncated quotient is odd. The
// arguments are the bits of x and y. Both numbers must be nonnegative, x must be finite, and y must
// not be zero.
func modBits(x, y uint32) (r uint32, odd bool) {
	if x < y {
		return x, false
	}
	mx, ex := significand(x)
	my, ey := significand(y)
	// Compute the remainder of mx·2^(ex-ey), 8 bits at a time.
	n := ex - ey
	q := mx / my
	mx -= q * my
	for n > 0 {
		s := n
		if s > 8 {
			s = 8
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
	shift := bits.LeadingZeros32(mx) - 8
	if shift >= ey {
		shift = ey - 1
	}
	mx <<= uint(shift)
	if mx < 1<<23 {
		return mx, odd // the result is subnormal
	}
	return mx&(1<<23-1) | uint32(ey-shift)<<23, odd
}

// significand returns m and e such that the number with the given bits is m·2^(e-150).
func significand(b uint32) (m uint32, e int) {
	e = int(b >> 23)
	if e == 0 {
		return b, 1
	}
	return b&(1<<23-1) | 1<<23, e
}

// Remainder returns x - n·y, where n is the integer nearest to x/y, with ties to even. The result is
// exact.
func Remainder(x, y float32) float32 {
	if y == 0 || x-x != 0 || y != y {
		return nan()
	}
	b := math.Float32bits(y) &^ signBit
	m, odd := modBits(math.Float32bits(x)&^signBit, b)
	r, ay := math.Float32frombits(m), math.Float32frombits(b)
	// Compare r with ay-r, because ay/2 may be inexact and 2r may overflow.
	rest := ay - r
	if r > rest || r == rest && odd {
		r = -rest
	}
	if math.Float32bits(x)&signBit != 0 {
		r = -r
	}
	return r
}
