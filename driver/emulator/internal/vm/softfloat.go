package vm

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/purecuda/cuda/ptx/num"
)

// Rounding. A result in a narrow format is computed in two steps. The first step rounds the exact
// value to odd in a float64. It truncates the value and sets the last bit if the value was not
// exact. This preserves everything that later rounding to at most 50 bits depends on. The second
// step rounds as the instruction specifies.

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

func addOdd(a, b float64) float64 {
	s := a + b
	// The rounding error of a sum is a float64 (Knuth's two-sum).
	t := s - a
	e := float64(a-float64(s-t)) + float64(b-t)
	if e != e {
		return s // an infinity or a NaN has no rounding error
	}
	return odd(s, e)
}

// fmaOdd returns a*b+c rounded to odd. a*b must be exact in float64.
func fmaOdd(a, b, c float64) float64 { return addOdd(float64(a*b), c) }

// divOdd returns a/b rounded to odd. The operands have at most 24 significant bits.
func divOdd(a, b float64) float64 {
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

// format describes a binary floating-point format with infinities.
type format struct{ mant, exp uint }

var (
	formatF16  = format{10, 5}
	formatBF16 = format{7, 8}
	formatF32  = format{23, 8}
)

// encode rounds x to the format. x must be exact or rounded to odd.
func (f format) encode(x float64, r rounding) uint32 {
	b := math.Float64bits(x)
	sign := uint32(b>>63) << (f.mant + f.exp)
	b &^= 1 << 63
	inf := uint32(1<<f.exp-1) << f.mant
	switch {
	case b > 0x7ff<<52:
		return f.nan()
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
	bias := 1<<(f.exp-1) - 1
	shift := 52 - int(f.mant)
	biased := e + bias
	if biased < 1 {
		shift += 1 - biased
		biased = 1
	}
	q := roundShift(sig, uint(shift), sign != 0, r)
	out := uint32(biased-1)<<f.mant + uint32(q) // a carry increments the exponent
	if out >= inf || biased >= 1<<f.exp-1 {
		return sign | f.overflow(sign != 0, r)
	}
	return sign | out
}

func (f format) nan() uint32 { return 1<<(f.mant+f.exp) - 1 }

// overflow returns the result for a magnitude above the format's largest number.
func (f format) overflow(neg bool, r rounding) uint32 {
	inf := uint32(1<<f.exp-1) << f.mant
	if r == roundRZ || r == roundRP && neg || r == roundRM && !neg {
		return inf - 1
	}
	return inf
}

func (f format) smallest() float64 { return math.Ldexp(1, 2-1<<(f.exp-1)) }

// limit replaces an infinity with the largest number of the same sign.
func (f format) limit(x uint32) uint32 {
	if inf := uint32(1<<f.exp-1) << f.mant; x&(1<<(f.mant+f.exp)-1) == inf {
		return x - 1
	}
	return x
}

// roundShift returns sig >> shift, rounded in mode r.
func roundShift(sig uint64, shift uint, neg bool, r rounding) uint64 {
	if shift > 63 {
		sig, shift = b2u64(sig != 0), 63
	}
	if shift == 0 {
		return sig
	}
	q := sig >> shift
	rem := sig & (1<<shift - 1)
	half := uint64(1) << (shift - 1)
	up := false
	switch r {
	case roundRZ:
	case roundRM:
		up = neg && rem != 0
	case roundRP:
		up = !neg && rem != 0
	case roundRNA:
		up = rem >= half
	default:
		up = rem > half || rem == half && q&1 != 0
	}
	return q + b2u64(up)
}

func (f format) decode(x uint32) float64 {
	e := x >> f.mant & (1<<f.exp - 1)
	m := x & (1<<f.mant - 1)
	bias := 1<<(f.exp-1) - 1
	var v float64
	switch {
	case e == 1<<f.exp-1 && m != 0:
		return math.NaN()
	case e == 1<<f.exp-1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-bias-int(f.mant))
	default:
		v = math.Float64frombits(uint64(int(e)-bias+1023)<<52 | uint64(m)<<(52-f.mant))
	}
	if x>>(f.mant+f.exp)&1 != 0 {
		return -v
	}
	return v
}

// toF32 rounds x, which is exact or rounded to odd, to a float32.
func toF32(x float64, r rounding) float32 {
	if r == roundRN || r == roundNone {
		return float32(x)
	}
	return math.Float32frombits(formatF32.encode(x, r))
}

// halfFromFloat64 and bf16FromFloat64 round x to nearest. x must be exact or rounded to odd.
func halfFromFloat64(x float64) uint32 { return uint32(num.F16FromFloat64(x).Bits()) }
func bf16FromFloat64(x float64) uint32 { return uint32(num.BF16FromFloat64(x).Bits()) }

// flush replaces a subnormal number with a zero of the same sign.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return x
}

func saturate(x float32) float32 {
	switch {
	case x >= 1:
		return 1
	case x > 0:
		return x
	}
	return 0
}

func saturate64(x float64) float64 {
	switch {
	case x >= 1:
		return 1
	case x > 0:
		return x
	}
	return 0
}

// addF32 returns a+b in any rounding mode.
func addF32(a, b float32, r rounding) float32 {
	if r == roundRN {
		return canonicalF32(a + b)
	}
	x := addOdd(float64(a), float64(b))
	if x == 0 {
		return zeroSum(float64(a), float64(b), r)
	}
	return toF32(x, r)
}

// zeroSum returns the zero that results from a+b = 0. When rounding down, it is negative unless
// both operands are positive zeros.
func zeroSum(a, b float64, r rounding) float32 {
	if r == roundRM && (math.Signbit(a) || math.Signbit(b)) {
		return float32(math.Copysign(0, -1))
	}
	return float32(a + b)
}

func mulF32(a, b float32, r rounding) float32 {
	if r == roundRN {
		return canonicalF32(float32(a * b))
	}
	return toF32(float64(a)*float64(b), r)
}

// fmaF32 returns a*b+c, rounded once to nearest.
func fmaF32(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b)) // this product is exact
	s := p + float64(c)
	// s is rounded to 53 bits. A second rounding, to float32, is wrong in only two cases. One is a
	// value halfway between two float32 values, with 1 followed by 28 zeros in its low 29 bits. The
	// other is a value near the subnormal range, where fewer bits are kept. The second comparison
	// is also true for NaNs.
	u := math.Float64bits(s)
	if u&0x1fffffff == 0x10000000 || u&^(1<<63)-quickFma > infinity64-quickFma {
		return canonicalF32(float32(fmaOdd(float64(a), float64(b), float64(c))))
	}
	return float32(s)
}

// If the bit pattern of a sum's magnitude is between these two, rounding twice is correct unless
// the sum is halfway between two float32 values.
const (
	quickFma   = 0x3820_0000_0000_0000
	infinity64 = 0x7ff << 52
)

func fmaF32Mode(a, b, c float32, r rounding) float32 {
	if r == roundRN {
		return fmaF32(a, b, c)
	}
	p := float64(a) * float64(b)
	x := addOdd(p, float64(c))
	if x == 0 {
		return zeroSum(p, float64(c), r)
	}
	return toF32(x, r)
}

func divF32(a, b float32, r rounding) float32 {
	if r == roundRN {
		return canonicalF32(a / b)
	}
	return toF32(divOdd(float64(a), float64(b)), r)
}

func sqrtF32(a float32, r rounding) float32 {
	if r == roundRN {
		return canonicalF32(float32(math.Sqrt(float64(a))))
	}
	return toF32(sqrtOdd(float64(a)), r)
}

// float64 operations in directed modes. They adjust the result to nearest by one step if the exact
// result is on the other side. math/big determines the side where host arithmetic cannot.

// direct adjusts y to mode r. y is the float64 nearest to the exact value. rest is the sign of the
// exact value minus y.
func direct(y float64, rest int, r rounding) float64 {
	if rest == 0 || r == roundRN || y != y {
		return y
	}
	down := r == roundRM || r == roundRZ && (y > 0 || y == 0 && rest > 0)
	up := r == roundRP || r == roundRZ && (y < 0 || y == 0 && rest < 0)
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
func nearest(x *big.Float, r rounding) float64 {
	y, _ := x.Float64()
	if math.IsInf(y, 0) { // x is above the largest float64
		neg := y < 0
		if r == roundRZ || r == roundRP && neg || r == roundRM && !neg {
			return math.Copysign(math.MaxFloat64, y)
		}
		return y
	}
	return direct(y, x.Cmp(exact(y)), r)
}

func addF64(a, b float64, r rounding) float64 {
	y := a + b
	if r == roundRN || !finite(a, b) {
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

func mulF64(a, b float64, r rounding) float64 {
	y := float64(a * b)
	if r == roundRN || !finite(a, b) || a == 0 || b == 0 {
		return y
	}
	if rest, ok := restOfProduct(a, b, y); ok {
		return direct(y, rest, r)
	}
	return nearest(exact(a).Mul(exact(a), exact(b)), r)
}

func fmaF64(a, b, c float64, r rounding) float64 {
	y := math.FMA(a, b, c)
	if r == roundRN || !finite(a, b, c) {
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

func divF64(a, b float64, r rounding) float64 {
	y := a / b
	if r == roundRN || !finite(a, b) || a == 0 || b == 0 {
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

func sqrtF64(a float64, r rounding) float64 {
	y := math.Sqrt(a)
	if r == roundRN || !finite(a) || a <= 0 {
		return y
	}
	if rest, ok := restOfRoot(a, y); ok {
		return direct(y, rest, r)
	}
	rest := exact(a)
	rest.Sub(rest, new(big.Float).SetPrec(exactBits).Mul(exact(y), exact(y)))
	return direct(y, rest.Sign(), r)
}

func roundIntegral(x float64, r rounding) float64 {
	switch r {
	case roundRZ:
		return math.Trunc(x)
	case roundRM:
		return math.Floor(x)
	case roundRP:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

// intToF32 rounds mag, negated if neg is set, to f32.
func intToF32(mag uint64, neg bool, r rounding) float32 {
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
	return toF32(x, r)
}

func intToF64(mag uint64, neg bool, r rounding) float64 {
	if mag == 0 {
		return 0
	}
	n := bits.Len64(mag)
	var q uint64
	sh := 0
	if n > 53 {
		sh = n - 53
		q = roundShift(mag, uint(sh), neg, r)
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

func sign(x float64) int { return int(b2u(x > 0)) - int(b2u(x < 0)) }

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
