package math

import (
	"math"
	"math/bits"
)

const (
	twoOverPi = 0x1.45f306dc9c883p-01
	// The sum of these numbers is π/2 - halfPi. The product of the first one with a 16-bit integer
	// is exact.
	halfPiMiddle = 0x1.1a62633140000p-54
	halfPiLow    = 0x1.701b839a25205p-92
	// Above this limit, the factor by which π/2 is multiplied has more than 16 bits.
	reduceLimit = 1e5
)

// reduce returns q and the pair x - q·π/2. Only the two low bits of q are valid.
func reduce(x float64) (r, rl float64, q uint32) {
	if !(math.Abs(x) <= reduceLimit) {
		return reduceLarge(x)
	}
	t := math.FMA(x, twoOverPi, magic)
	n := t - magic
	q = uint32(math.Float64bits(t))
	// All differences except r are exact. If a is small, r-a is n·halfPiMiddle. Otherwise, r is
	// between a/2 and 2a.
	a := math.FMA(-n, halfPi, x)
	r = math.FMA(-n, halfPiMiddle, a)
	above := math.FMA(n, halfPiMiddle, r-a)
	return r, -math.FMA(n, halfPiLow, above), q
}

// twoOverPiBits contains 64 zeros followed by the first bits of 2/π.
var twoOverPiBits = [21]uint64{
	0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
	0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
	0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
}

// window returns 64 bits of 2/π, starting at the given bit of twoOverPiBits.
func window(at uint) uint64 {
	w, s := at/64, at%64
	return twoOverPiBits[w]<<s | twoOverPiBits[w+1]>>1>>(63-s)
}

// reduceLarge is like reduce, but for large numbers. It multiplies the significand by 192 bits of 2/π
// (the method of Payne and Hanek). Higher bits would only add multiples of 4 to q.
func reduceLarge(x float64) (r, rl float64, q uint32) {
	b := math.Float64bits(x)
	e := uint(b >> 52 & 0x7ff)
	if e == 0x7ff {
		return math.NaN(), 0, 0
	}
	significand := b&(1<<52-1) | 1<<52
	at := 62 + e - 1075
	c, _ := bits.Mul64(significand, window(at+128))
	h1, l1 := bits.Mul64(significand, window(at+64))
	low, carry := bits.Add64(l1, c, 0)
	high := significand*window(at) + h1 + carry
	// The product has 2 bits before the binary point and 126 bits after it.
	q = uint32(high>>62) + uint32(high>>61&1)
	high, low = high<<2|low>>62, low<<2
	negative := high>>63 != 0
	if negative {
		low, carry = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, carry)
	}
	shift := uint(bits.LeadingZeros64(high))
	high, low = high<<shift|low>>1>>(63-shift), low<<shift
	// The fraction is high·2^-64 + low·2^-128, scaled by 2^-shift. Its first 53 bits are exact.
	f := float64(high >> 11)
	g := float64(high<<53>>11|low>>22) * 0x1p-53
	f, g = fastTwoSum(f, g)
	scale := powerOf2(-53 - int(shift))
	r, rl = mulPair(f, g, halfPi, halfPi2)
	r, rl = float64(r*scale), float64(rl*scale)
	if negative != (b&signBit != 0) {
		r, rl = -r, -rl
	}
	if b&signBit != 0 {
		q = -q
	}
	return r, rl, q
}

// sinPair returns the sine of r+rl as a sum of two numbers, for |r| up to π/4.
func sinPair(r, rl float64) (h, l float64) {
	s := float64(r * r)
	p := math.FMA(sinC6, s, sinC5)
	p = math.FMA(p, s, sinC4)
	p = math.FMA(p, s, sinC3)
	p = math.FMA(p, s, sinC2)
	p = math.FMA(p, s, sinC1)
	p = math.FMA(p, s, sinC0)
	// sin(r+rl) = r + (r³·p + rl·(1 - r²/2)).
	return r, math.FMA(p, float64(s*r), math.FMA(rl, float64(-0.5*s), rl))
}

// cosPair returns the cosine of r+rl as a sum of two numbers, for |r| up to π/4.
func cosPair(r, rl float64) (h, l float64) {
	s, sl := twoProd(r, r)
	p := math.FMA(cosC6, s, cosC5)
	p = math.FMA(p, s, cosC4)
	p = math.FMA(p, s, cosC3)
	p = math.FMA(p, s, cosC2)
	p = math.FMA(p, s, cosC1)
	p = math.FMA(p, s, cosC0)
	// cos(r+rl) = 1 - r²/2 + (r⁴·p - r·rl).
	h, l = fastTwoSum(1, -0.5*s)
	l = math.FMA(-0.5, sl, l)
	return h, math.FMA(float64(s*s), p, math.FMA(-r, rl, l))
}

// sinQuadrant returns the sine of r+rl + q·π/2.
func sinQuadrant(r, rl float64, q uint32) float64 {
	// Selecting coefficients is faster than a branch on which the threads of a warp diverge.
	var c6, c5, c4, c3, c2, c1, c0 float64 = sinC6, sinC5, sinC4, sinC3, sinC2, sinC1, sinC0
	if q&1 != 0 {
		c6, c5, c4, c3, c2, c1, c0 = cosC6, cosC5, cosC4, cosC3, cosC2, cosC1, cosC0
	}
	s := float64(r * r)
	p := math.FMA(c6, s, c5)
	p = math.FMA(p, s, c4)
	p = math.FMA(p, s, c3)
	p = math.FMA(p, s, c2)
	p = math.FMA(p, s, c1)
	p = math.FMA(p, s, c0)
	// sin(r+rl) = r - (rl·(r²/2 - 1) - r³·p), which is r if r is a zero.
	v := r - math.FMA(-p, float64(s*r), math.FMA(-rl, float64(-0.5*s), -rl))
	if q&1 != 0 {
		// cos(r+rl) = 1 - r²/2 + (r⁴·p - r·rl).
		half := -0.5 * r
		h := math.FMA(half, r, 1)
		l := math.FMA(half, r, 1-h)
		v = h + math.FMA(float64(s*s), p, math.FMA(-r, rl, l))
	}
	return math.Float64frombits(math.Float64bits(v) ^ uint64(q)<<62&signBit)
}

// Sin returns the sine of x radians.
func Sin(x float64) float64 {
	r, rl, q := reduce(x)
	return sinQuadrant(r, rl, q)
}

// Cos returns the cosine of x radians.
func Cos(x float64) float64 {
	r, rl, q := reduce(x)
	return sinQuadrant(r, rl, q+1)
}

// Sincos returns the sine and the cosine of x radians.
func Sincos(x float64) (sin, cos float64) {
	r, rl, q := reduce(x)
	return sinQuadrant(r, rl, q), sinQuadrant(r, rl, q+1)
}

// Tan returns the tangent of x radians.
func Tan(x float64) float64 {
	r, rl, q := reduce(x)
	if math.Abs(r) < tiny && q&1 == 0 {
		return r + rl
	}
	sh, sl := sinPair(r, rl)
	sh, sl = fastTwoSum(sh, sl)
	ch, cl := cosPair(r, rl)
	ch, cl = fastTwoSum(ch, cl)
	if q&1 != 0 {
		sh, sl, ch, cl = -ch, -cl, sh, sl
	}
	h, _ := divPair(sh, sl, ch, cl)
	return h
}

// reducePi returns q and the pair π·(x - q/2). Only the two low bits of q are valid.
func reducePi(x float64) (r, rl float64, q uint32) {
	// The remainder of a division by 2 is exact.
	y := math.FMA(-2, math.Trunc(0.5*x), x)
	t := math.FMA(2, y, magic)
	y = math.FMA(-0.5, t-magic, y)
	r, rl = mulPair(y, 0, pi, piLow)
	return r, rl, uint32(math.Float64bits(t))
}

// Sinpi returns the sine of π·x. If x is an integer, the result is a zero with the sign of x.
func Sinpi(x float64) float64 {
	r, rl, q := reducePi(x)
	if r == 0 && q&1 == 0 {
		return withSign(0, x)
	}
	return sinQuadrant(r, rl, q)
}

// Cospi returns the cosine of π·x. If x is an integer plus one half, the result is +0.
func Cospi(x float64) float64 {
	r, rl, q := reducePi(x)
	if r == 0 && q&1 != 0 {
		return 0
	}
	return sinQuadrant(r, rl, q+1)
}
