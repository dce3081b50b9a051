package math32

import (
	"math"
	"math/bits"
)

const (
	// The sum of these numbers is π/2. They are positive, so that reduce preserves the sign of
	// zero.
	halfPi    = 0x1.921fb4p+00
	halfPiMid = 0x1.4442dp-24
	halfPiLow = 0x1.84698ap-48
	twoOverPi = 0x1.45f306p-01
	// Above this limit, reduce would need more digits of π.
	reduceLimit = 105615
)

// reduce returns x - q·π/2 and q. Only the two low bits of q are valid.
func reduce(x float32) (r float32, q uint32) {
	if abs(x) > reduceLimit {
		r, _, q = reduceLarge(x)
		return r, q
	}
	t := fma(x, twoOverPi, magic)
	n := t - magic
	r = fma(-n, halfPi, x)
	r = fma(-n, halfPiMid, r)
	return fma(-n, halfPiLow, r), math.Float32bits(t)
}

// twoOverPiBits contains 64 zeros followed by the first bits of 2/π.
var twoOverPiBits = [5]uint64{
	0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
}

// reduceLarge returns q and the pair r+rl = x - q·π/2, for large x. It multiplies the significand by
// 128 bits of 2/π (the method of Payne and Hanek). Higher bits would only add multiples of 4 to q.
func reduceLarge(x float32) (r, rl float32, q uint32) {
	b := math.Float32bits(x)
	e := int(b >> 23 & 0xff)
	if e == 255 {
		return nan(), 0, 0
	}
	significand := uint64(b&(1<<23-1) | 1<<23)
	at := uint(62 + e - 150)
	w, s := at/64, at%64
	high := twoOverPiBits[w]<<s | twoOverPiBits[w+1]>>1>>(63-s)
	low := twoOverPiBits[w+1]<<s | twoOverPiBits[w+2]>>1>>(63-s)
	carry, _ := bits.Mul64(significand, low)
	// The product has 2 bits before the binary point and 62 bits after it.
	p := significand*high + carry
	q = uint32(p>>62) + uint32(p>>61&1)
	f := float64(int64(p<<2)) * (math.Pi / 2 * 0x1p-64)
	r = float32(f)
	rl = float32(f - float64(r))
	if b&signBit != 0 {
		return -r, -rl, -q
	}
	return r, rl, q
}

// sinCos returns the sine and the cosine of r, for |r| up to π/4.
func sinCos(r float32) (sin, cos float32) {
	s := float32(r * r)
	p := fma(sinC2, s, sinC1)
	p = fma(p, s, sinC0)
	// Adding 0 preserves the sign of a zero r, because p is negative.
	sin = fma(p, fma(s, r, 0), r)
	p = fma(cosC3, s, cosC2)
	p = fma(p, s, cosC1)
	p = fma(p, s, cosC0)
	return sin, fma(p, s, 1)
}

// quadrant returns the sine of r + q·π/2 from the sine and the cosine of r.
func quadrant(sin, cos float32, q uint32) float32 {
	if q&1 != 0 {
		sin = cos
	}
	return math.Float32frombits(math.Float32bits(sin) ^ q<<30&signBit)
}

// Sin returns the sine of x radians.
func Sin(x float32) float32 {
	r, q := reduce(x)
	// Computing both the sine and the cosine costs less than selecting coefficients.
	sin, cos := sinCos(r)
	return quadrant(sin, cos, q)
}

// Cos returns the cosine of x radians.
func Cos(x float32) float32 {
	r, q := reduce(x)
	sin, cos := sinCos(r)
	return quadrant(sin, cos, q+1)
}

// Sincos returns the sine and the cosine of x radians.
func Sincos(x float32) (sin, cos float32) {
	r, q := reduce(x)
	sin, cos = sinCos(r)
	return quadrant(sin, cos, q), quadrant(sin, cos, q+1)
}
