package math

import "math"

// Mathematical constants, as in Go's package math.
const (
	E       = math.E
	Pi      = math.Pi
	Phi     = math.Phi
	Sqrt2   = math.Sqrt2
	SqrtE   = math.SqrtE
	SqrtPi  = math.SqrtPi
	SqrtPhi = math.SqrtPhi
	Ln2     = math.Ln2
	Log2E   = math.Log2E
	Ln10    = math.Ln10
	Log10E  = math.Log10E

	MaxFloat64             = math.MaxFloat64
	SmallestNonzeroFloat64 = math.SmallestNonzeroFloat64
)

// Abs returns the magnitude of x.
func Abs(x float64) float64 { return math.Abs(x) }

// Sqrt returns the correctly rounded square root of x.
func Sqrt(x float64) float64 { return math.Sqrt(x) }

// FMA returns x·y + z, rounded once.
func FMA(x, y, z float64) float64 { return math.FMA(x, y, z) }

// Floor returns the greatest integer value less than or equal to x.
func Floor(x float64) float64 { return math.Floor(x) }

// Ceil returns the least integer value greater than or equal to x.
func Ceil(x float64) float64 { return math.Ceil(x) }

// Trunc returns the integer part of x.
func Trunc(x float64) float64 { return math.Trunc(x) }

// RoundToEven returns the integer nearest to x, with ties to even.
func RoundToEven(x float64) float64 { return math.RoundToEven(x) }

// Round returns the integer nearest to x, with ties away from zero.
func Round(x float64) float64 {
	t := math.Trunc(x)
	if math.Abs(x-t) >= 0.5 {
		t += math.Copysign(1, x)
	}
	return math.Copysign(t, x)
}

// Copysign returns a value with the magnitude of f and the sign of sign.
func Copysign(f, sign float64) float64 { return math.Copysign(f, sign) }

// Signbit reports whether x is negative or a negative zero.
func Signbit(x float64) bool { return math.Float64bits(x)&signBit != 0 }

// Inf returns positive infinity if sign >= 0, and negative infinity otherwise.
func Inf(sign int) float64 { return math.Inf(sign) }

// NaN returns a NaN.
func NaN() float64 { return math.NaN() }

// IsNaN reports whether x is a NaN.
func IsNaN(x float64) bool { return x != x }

// IsInf reports whether x is an infinity with the given sign. If sign is 0, it accepts both
// infinities.
func IsInf(x float64, sign int) bool { return math.IsInf(x, sign) }

// Float64bits returns the bits of x.
func Float64bits(x float64) uint64 { return math.Float64bits(x) }

// Float64frombits returns the number that has the given bits.
func Float64frombits(b uint64) float64 { return math.Float64frombits(b) }

// Max returns the larger of its arguments. If one of them is a NaN, the result is a NaN, unless the
// other is positive infinity. +0 is considered larger than -0.
func Max(x, y float64) float64 {
	switch {
	case x > math.MaxFloat64 || y > math.MaxFloat64:
		return math.Inf(1)
	case x != x || y != y:
		return math.NaN()
	case x == 0 && y == 0:
		return math.Float64frombits(math.Float64bits(x) & math.Float64bits(y))
	case x > y:
		return x
	}
	return y
}

// Min returns the smaller of its arguments. If one of them is a NaN, the result is a NaN, unless
// the other is negative infinity. -0 is considered smaller than +0.
func Min(x, y float64) float64 { return -Max(-x, -y) }

// Dim returns x-y, or 0 if the difference is negative.
func Dim(x, y float64) float64 {
	d := x - y
	if d <= 0 {
		return 0
	}
	return d
}

// Frexp returns f and e such that x = f·2^e, where the magnitude of f is at least 0.5 and less than
// 1. If x is zero, infinite or a NaN, it returns x and 0.
func Frexp(x float64) (f float64, e int) {
	if x == 0 || x-x != 0 {
		return x, 0
	}
	if math.Abs(x) < 0x1p-1022 {
		x, e = float64(x*0x1p54), -54
	}
	b := math.Float64bits(x)
	return math.Float64frombits(b&^(0x7ff<<52) | 1022<<52), e + int(b>>52&0x7ff) - 1022
}

// Ldexp returns f·2^e.
func Ldexp(f float64, e int) float64 {
	if f == 0 || f-f != 0 {
		return f
	}
	f, k := Frexp(f)
	switch {
	case e > 3000:
		e = 3000
	case e < -3000:
		e = -3000
	}
	e += k
	switch {
	case e > 1024:
		return math.Copysign(math.Inf(1), f)
	case e < -1074:
		// Half of the smallest subnormal number rounds to zero.
		return math.Copysign(0, f)
	}
	return ldexp(f, e)
}

// Ilogb returns the binary exponent of x. For zero it returns the smallest int32, and for
// infinities and NaNs the largest int32.
func Ilogb(x float64) int {
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
func Logb(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x != x:
		return x
	case x-x != 0:
		return math.Inf(1)
	}
	return float64(Ilogb(x))
}

// Nextafter returns the number adjacent to x in the direction of y.
func Nextafter(x, y float64) float64 {
	switch {
	case x != x || y != y:
		return math.NaN()
	case x == y:
		return x
	case x == 0:
		return withSign(0x1p-1074, y)
	case (y > x) == (x > 0):
		return math.Float64frombits(math.Float64bits(x) + 1)
	}
	return math.Float64frombits(math.Float64bits(x) - 1)
}
