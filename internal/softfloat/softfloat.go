// Package softfloat computes floating-point operations in every rounding mode. The emulator and
// package gpu share it, so that their results have equal bits.
//
// A result in a narrow format is computed in two steps. The first step rounds the exact value to
// odd in a float64. It truncates the value and sets the last bit if the value was not exact. This
// preserves everything that later rounding to at most 50 bits depends on. The second step rounds as
// the instruction specifies.
package softfloat

import (
	"math"
	"math/big"
	"math/bits"
)

// Mode is a rounding mode.
type Mode uint8

// The rounding modes of PTX. RNA rounds ties away from zero.
const (
	None Mode = iota
	RN
	RZ
	RM
	RP
	RNA
)

// bit returns 1 if b is true.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// odd returns s+e rounded to odd. s is the float64 nearest to the exact value, and e has the sign
// of the difference.
func odd(s, e float64) float64 {
	b := math.Float64bits(s)
	if e == 0 || b&1 != 0 || b&^(1<<63) >= 0x7ff<<52 {
		return s
	}
	if s == 0 {
		return math.Copysign(math.SmallestNonzeroFloat64, e)
	}
	if (e > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// AddOdd returns a+b rounded to odd.
func AddOdd(a, b float64) float64 {
	s := a + b
	// The rounding error of a sum is a float64 (Knuth's two-sum).
	t := s - a
	e := float64(a-float64(s-t)) + float64(b-t)
	if e != e {
		return s // an infinity or a NaN has no rounding error
	}
	return odd(s, e)
}

// FMAOdd returns a*b+c rounded to odd. a*b must be exact in float64.
func FMAOdd(a, b, c float64) float64 { return AddOdd(float64(a*b), c) }

// DivOdd returns a/b rounded to odd. The operands have at most 24 significant bits.
func DivOdd(a, b float64) float64 {
	q := a / b
	if q == 0 || math.IsInf(q, 0) || q != q {
		return q
	}
	r := math.FMA(-q, b, a)
	if b < 0 {
		r = -r
	}
	return odd(q, r)
}

// sqrtOdd returns the square root of a, rounded to odd. a has at most 24 significant bits.
func sqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	if q == 0 || math.IsInf(q, 0) || q != q {
		return q
	}
	return odd(q, math.FMA(-q, q, a))
}

// Encode rounds x to a format with exp bits of exponent and mant bits after the leading one. x must be
// exact or rounded to odd.
func Encode(x float64, mant, exp uint, r Mode) uint32 {
	b := math.Float64bits(x)
	sign := uint32(b>>63) << (mant + exp)
	b &^= 1 << 63
	inf := uint32(1<<exp-1) << mant
	switch {
	case b > 0x7ff<<52:
		return 1<<(mant+exp) - 1
	case b == 0x7ff<<52:
		return sign | inf
	case b == 0:
		return sign
	}
	e := int(b>>52) - 1023
	sig := b&(1<<52-1) | 1<<52
	if b>>52 == 0 { // x is a subnormal float64
		sig = b & (1<<52 - 1)
		e = -1022
	}
	bias := 1<<(exp-1) - 1
	shift := 52 - int(mant)
	biased := e + bias
	if biased < 1 {
		shift += 1 - biased
		biased = 1
	}
	q := RoundShift(sig, uint(shift), sign != 0, r)
	out := uint32(biased-1)<<mant + uint32(q) // a carry increments the exponent
	if out >= inf || biased >= 1<<exp-1 {
		return sign | Overflow(mant, exp, sign != 0, r)
	}
	return sign | out
}

// Overflow returns the result for a magnitude above the format's largest number.
func Overflow(mant, exp uint, neg bool, r Mode) uint32 {
	inf := uint32(1<<exp-1) << mant
	if r == RZ || r == RP && neg || r == RM && !neg {
		return inf - 1
	}
	return inf
}

// RoundShift returns sig >> shift, rounded in mode r.
func RoundShift(sig uint64, shift uint, neg bool, r Mode) uint64 {
	if shift > 63 {
		sig, shift = bit(sig != 0), 63
	}
	if shift == 0 {
		return sig
	}
	q := sig >> shift
	rem := sig & (1<<shift - 1)
	half := uint64(1) << (shift - 1)
	up := false
	switch r {
	case RZ:
	case RM:
		up = neg && rem != 0
	case RP:
		up = !neg && rem != 0
	case RNA:
		up = rem >= half
	default:
		up = rem > half || rem == half && q&1 != 0
	}
	return q + bit(up)
}

// ToF32 rounds x, which is exact or rounded to odd, to a float32.
func ToF32(x float64, r Mode) float32 {
	if r == RN || r == None {
		return float32(x)
	}
	return math.Float32frombits(Encode(x, 23, 8, r))
}

// AddF32 returns a+b in any rounding mode.
func AddF32(a, b float32, r Mode) float32 {
	if r == RN {
		return Canonical(a + b)
	}
	x := AddOdd(float64(a), float64(b))
	if x == 0 {
		return zeroSum(float64(a), float64(b), r)
	}
	return ToF32(x, r)
}

// zeroSum returns the zero that results from a+b = 0. When rounding down, it is negative unless
// both operands are positive zeros.
func zeroSum(a, b float64, r Mode) float32 {
	if r == RM && (math.Signbit(a) || math.Signbit(b)) {
		return float32(math.Copysign(0, -1))
	}
	return float32(a + b)
}

// MulF32 returns a*b in any rounding mode.
func MulF32(a, b float32, r Mode) float32 {
	if r == RN {
		return Canonical(float32(a * b))
	}
	return ToF32(float64(a)*float64(b), r)
}

// FMAF32 returns a*b+c, rounded once to nearest.
func FMAF32(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b)) // this product is exact
	s := p + float64(c)
	// s is rounded to 53 bits. A second rounding, to float32, may be wrong.
	if RoundsTwice(s) {
		return Canonical(float32(FMAOdd(float64(a), float64(b), float64(c))))
	}
	return float32(s)
}

// RoundsTwice reports whether rounding s to float32 may be wrong, where s was rounded to 53 bits. There are only two cases. One is a value halfway between two float32 values, with 1 followed by
// 28 zeros in its low 29 bits. The other is a value near the subnormal range, where fewer bits are
// kept. The second comparison is also true for NaNs.
func RoundsTwice(s float64) bool {
	u := math.Float64bits(s)
	return u&0x1fffffff == 0x10000000 || u&^(1<<63)-quickFma > infinity64-quickFma
}

// If the bit pattern of a sum's magnitude is between these two, rounding twice is correct unless
// the sum is halfway between two float32 values.
const (
	quickFma   = 0x3820_0000_0000_0000
	infinity64 = 0x7ff << 52
)

// FMAF32Mode returns a*b+c in any rounding mode.
func FMAF32Mode(a, b, c float32, r Mode) float32 {
	if r == RN {
		return FMAF32(a, b, c)
	}
	p := float64(a) * float64(b)
	x := AddOdd(p, float64(c))
	if x == 0 {
		return zeroSum(p, float64(c), r)
	}
	return ToF32(x, r)
}

// DivF32 returns a/b in any rounding mode.
func DivF32(a, b float32, r Mode) float32 {
	if r == RN {
		return Canonical(a / b)
	}
	return ToF32(DivOdd(float64(a), float64(b)), r)
}

// SqrtF32 returns the square root of a in any rounding mode.
func SqrtF32(a float32, r Mode) float32 {
	if r == RN {
		return Canonical(float32(math.Sqrt(float64(a))))
	}
	return ToF32(sqrtOdd(float64(a)), r)
}

// float64 operations in directed modes. They adjust the result to nearest by one step if the exact
// result is on the other side. math/big determines the side where host arithmetic cannot.

// direct adjusts y to mode r. y is the float64 nearest to the exact value. rest is the sign of the
// exact value minus y.
func direct(y float64, rest int, r Mode) float64 {
	if rest == 0 || r == RN || y != y {
		return y
	}
	down := r == RM || r == RZ && (y > 0 || y == 0 && rest > 0)
	up := r == RP || r == RZ && (y < 0 || y == 0 && rest < 0)
	switch {
	case down && rest < 0:
		return math.Nextafter(y, math.Inf(-1))
	case up && rest > 0:
		return math.Nextafter(y, math.Inf(1))
	}
	return y
}

const exactBits = 5000 // precision that holds a sum or product of any float64 values exactly

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsInf(x, 0) || x != x {
			return false
		}
	}
	return true
}

// nearest rounds an exact value to a float64 in mode r.
func nearest(x *big.Float, r Mode) float64 {
	y, _ := x.Float64()
	if math.IsInf(y, 0) { // x is above the largest float64
		neg := y < 0
		if r == RZ || r == RP && neg || r == RM && !neg {
			return math.Copysign(math.MaxFloat64, y)
		}
		return y
	}
	return direct(y, x.Cmp(exact(y)), r)
}

// AddF64 returns a+b in any rounding mode.
func AddF64(a, b float64, r Mode) float64 {
	y := a + b
	if r == RN || !finite(a, b) {
		return y
	}
	if y == 0 {
		return float64(zeroSum(a, b, r))
	}
	if rest, ok := restOfSum(a, b, y); ok {
		return direct(y, rest, r)
	}
	return nearest(exact(a).Add(exact(a), exact(b)), r)
}

// MulF64 returns a*b in any rounding mode.
func MulF64(a, b float64, r Mode) float64 {
	y := float64(a * b)
	if r == RN || !finite(a, b) || a == 0 || b == 0 {
		return y
	}
	if rest, ok := restOfProduct(a, b, y); ok {
		return direct(y, rest, r)
	}
	return nearest(exact(a).Mul(exact(a), exact(b)), r)
}

// FMAF64 returns a*b+c in any rounding mode.
func FMAF64(a, b, c float64, r Mode) float64 {
	y := math.FMA(a, b, c)
	if r == RN || !finite(a, b, c) {
		return y
	}
	if rest, ok := restOfFMA(a, b, c, y); ok {
		return direct(y, rest, r)
	}
	x := new(big.Float).SetPrec(exactBits).Mul(exact(a), exact(b))
	x.Add(x, exact(c))
	if x.Sign() == 0 {
		return float64(zeroSum(float64(a*b), c, r))
	}
	return nearest(x, r)
}

// DivF64 returns a/b in any rounding mode.
func DivF64(a, b float64, r Mode) float64 {
	y := a / b
	if r == RN || !finite(a, b) || a == 0 || b == 0 {
		return y
	}
	if rest, ok := restOfQuotient(a, b, y); ok {
		return direct(y, rest, r)
	}
	if math.IsInf(y, 0) {
		return nearest(exact(a).Quo(exact(a), exact(b)), r)
	}
	rest := exact(a)
	rest.Sub(rest, new(big.Float).SetPrec(exactBits).Mul(exact(y), exact(b)))
	sign := rest.Sign()
	if b < 0 {
		sign = -sign
	}
	return direct(y, sign, r)
}

// SqrtF64 returns the square root of a in any rounding mode.
func SqrtF64(a float64, r Mode) float64 {
	y := math.Sqrt(a)
	if r == RN || !finite(a) || a <= 0 {
		return y
	}
	if rest, ok := restOfRoot(a, y); ok {
		return direct(y, rest, r)
	}
	rest := exact(a)
	rest.Sub(rest, new(big.Float).SetPrec(exactBits).Mul(exact(y), exact(y)))
	return direct(y, rest.Sign(), r)
}

// Integral rounds x to an integral value.
func Integral(x float64, r Mode) float64 {
	switch r {
	case RZ:
		return math.Trunc(x)
	case RM:
		return math.Floor(x)
	case RP:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

// IntToF32 rounds mag, negated if neg is set, to f32.
func IntToF32(mag uint64, neg bool, r Mode) float32 {
	if mag == 0 {
		return 0
	}
	if n := bits.Len64(mag); n > 53 { // round to odd at 53 bits first
		sh := uint(n - 53)
		lost := mag&(1<<sh-1) != 0
		mag = mag >> sh << sh
		if lost {
			mag |= 1 << sh
		}
	}
	x := float64(mag)
	if neg {
		x = -x
	}
	return ToF32(x, r)
}

// IntToF64 rounds mag, negated if neg is set, to f64.
func IntToF64(mag uint64, neg bool, r Mode) float64 {
	if mag == 0 {
		return 0
	}
	n := bits.Len64(mag)
	var q uint64
	sh := 0
	if n > 53 {
		sh = n - 53
		q = RoundShift(mag, uint(sh), neg, r)
	} else {
		q = mag
	}
	x := math.Ldexp(float64(q), sh)
	if neg {
		x = -x
	}
	return x
}

// The sign of the rounding error of the nearest float64, computed with host arithmetic. If no step
// underflows or overflows, the error of an operation is exactly a float64, or a float64 with the
// same sign is computable. All other cases use the general method.

// The range of magnitudes in which the errors of products, quotients and roots are exactly
// representable as float64.
const (
	leastQuick = 0x1p-900
	mostQuick  = 0x1p1000
)

// quickRange reports whether the magnitude of x is from leastQuick to mostQuick.
func quickRange(x float64) bool {
	x = math.Abs(x)
	return x >= leastQuick && x <= mostQuick
}

func sign(x float64) int { return int(bit(x > 0)) - int(bit(x < 0)) }

// twoSum returns a+b and its rounding error (Knuth's two-sum).
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, float64(a-float64(s-t)) + float64(b-t)
}

// restOfSum returns the sign of the exact a+b minus y, where y is the nearest float64. If ok is
// false, the sign is unknown.
func restOfSum(a, b, y float64) (rest int, ok bool) {
	if math.Abs(a) > mostQuick || math.Abs(b) > mostQuick {
		return 0, false
	}
	_, e := twoSum(a, b)
	return sign(e), true
}

// restOfProduct is the counterpart of restOfSum for a*b.
func restOfProduct(a, b, y float64) (rest int, ok bool) {
	return sign(math.FMA(a, b, -y)), quickRange(y)
}

// restOfFMA is the counterpart of restOfSum for a*b+c (Boldo and Muller, 2005).
func restOfFMA(a, b, c, y float64) (rest int, ok bool) {
	p := float64(a * b)
	if !quickRange(p) || !quickRange(c) || !quickRange(y) {
		return 0, false
	}
	a1, a2 := twoSum(c, math.FMA(a, b, -p))
	b1, b2 := twoSum(p, a1)
	return sign(float64(float64(b1-y)+b2) + a2), true
}

// restOfQuotient is the counterpart of restOfSum for a/b.
func restOfQuotient(a, b, y float64) (rest int, ok bool) {
	rest = sign(math.FMA(-y, b, a))
	if b < 0 {
		rest = -rest
	}
	return rest, quickRange(a) && quickRange(b) && quickRange(y)
}

// restOfRoot is the counterpart of restOfSum for the square root of a.
func restOfRoot(a, y float64) (rest int, ok bool) {
	return sign(math.FMA(-y, y, a)), quickRange(a)
}

// FloatToInt converts an integral value to an integer type with saturation.
func FloatToInt(x float64, dw uint, ds bool) uint64 {
	if ds {
		limit := math.Ldexp(1, int(dw)-1)
		switch {
		case x >= limit:
			return 1<<(dw-1) - 1
		case x < -limit:
			return ^uint64(0) << (dw - 1)
		}
		return uint64(int64(x))
	}
	switch {
	case x <= 0:
		return 0
	case x >= math.Ldexp(1, int(dw)):
		return ^uint64(0) >> (64 - dw)
	case x >= 1<<63:
		return uint64(x-1<<63) | 1<<63
	}
	return uint64(x)
}

// Canonical returns x, or the NaN that f32 instructions produce if x is a NaN.
func Canonical(x float32) float32 {
	if x != x {
		return math.Float32frombits(0x7fffffff)
	}
	return x
}
