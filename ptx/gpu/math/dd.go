package math

import "math"

// The functions in this file compute with double-double numbers: sums of two float64 numbers, of
// which the second is at most half an ulp of the first. Such a pair has about 106 bits of
// precision. Products that must be rounded have an explicit conversion, so that no compiler fuses
// them with an addition.

const (
	signBit = 1 << 63
	infBits = 0x7ff << 52
	// Adding magic rounds a number below 2^51 to an integer. The low bits of the sum then contain
	// the integer.
	magic = 0x1.8p52

	log2e   = 0x1.71547652b82fep+00
	ln2     = 0x1.62e42fefa39efp-01
	ln2Low  = 0x1.abc9e3b39803fp-56
	halfPi  = 0x1.921fb54442d18p+00
	halfPi2 = 0x1.1a62633145c07p-54
)

// fastTwoSum returns a+b as a pair. It requires |a| >= |b|, or a = 0.
func fastTwoSum(a, b float64) (h, l float64) {
	h = a + b
	return h, b - (h - a)
}

// twoSum returns a+b as a pair.
func twoSum(a, b float64) (h, l float64) {
	h = a + b
	t := h - a
	return h, (a - (h - t)) + (b - t)
}

// twoProd returns a·b as a pair.
func twoProd(a, b float64) (h, l float64) {
	h = float64(a * b)
	return h, math.FMA(a, b, -h)
}

// addPair returns the sum of two pairs.
func addPair(ah, al, bh, bl float64) (h, l float64) {
	h, l = twoSum(ah, bh)
	return fastTwoSum(h, l+(al+bl))
}

// mulPair returns the product of two pairs.
func mulPair(ah, al, bh, bl float64) (h, l float64) {
	h, l = twoProd(ah, bh)
	return fastTwoSum(h, math.FMA(ah, bl, math.FMA(al, bh, l)))
}

// divPair returns the quotient of two pairs.
func divPair(ah, al, bh, bl float64) (h, l float64) {
	q := ah / bh
	r := math.FMA(-q, bh, ah)
	r = math.FMA(-q, bl, r+al)
	return fastTwoSum(q, r/bh)
}

// sqrtPair returns the square root of a pair whose first number is positive.
func sqrtPair(ah, al float64) (h, l float64) {
	s := math.Sqrt(ah)
	r := math.FMA(-s, s, ah) + al
	return fastTwoSum(s, r/(s+s))
}

// ldexp returns x·2^n for n between -2044 and 2046. Only the last multiplication may round.
func ldexp(x float64, n int) float64 {
	m := int32(n) >> 1
	return float64(float64(x*powerOf2(int(m))) * powerOf2(int(int32(n)-m)))
}

// powerOf2 returns 2^n for n between -1022 and 1023.
func powerOf2(n int) float64 { return math.Float64frombits(uint64(uint32(int32(n)+1023)<<20) << 32) }

// scaled returns x·2^n, provided that neither x nor the result is zero, subnormal or infinite.
func scaled(x float64, n int32) float64 {
	return math.Float64frombits(math.Float64bits(x) + uint64(uint32(n)<<20)<<32)
}

func withSign(x, s float64) float64 {
	return math.Float64frombits(math.Float64bits(x) | math.Float64bits(s)&signBit)
}
