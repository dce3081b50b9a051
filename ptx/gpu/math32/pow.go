package math32

import (
	"math"

	"github.com/purecuda/cuda/ptx/num"
)

// log2Pair returns scaled plus the binary logarithm of the number with the given bits, as a pair.
// The number must be finite, positive and not subnormal.
func log2Pair(b uint32, scaled float32) (h, l float32) {
	const sqrtHalf = 0x3f3504f3
	high := int32(b-sqrtHalf) &^ (1<<23 - 1)
	e := float32(float32(high)*0x1p-23) + scaled
	m := math.Float32frombits(b - uint32(high))
	// s+sl = (m-1)/(m+1).
	f, d := m-1, m+1
	dl := m - (d - 1)
	r := rcp(d)
	s := float32(f * r)
	sl := float32(fma(-s, dl, fma(-s, d, f)) * r)
	// t+tl = c0 + c1·u + … with u+ul = (s+sl)².
	u := float32(s * s)
	ul := fma(s, s, -u)
	ul = fma(s+s, sl, ul)
	p := fma(powLogC4, u, powLogC3)
	p = fma(p, u, powLogC2)
	p = fma(p, u, powLogC1Low)
	v := float32(u * powLogC1)
	vl := fma(u, p, fma(ul, powLogC1, fma(u, powLogC1, -v)))
	t := powLogC0 + v
	tl := (v - (t - powLogC0)) + (vl + powLogC0Low)
	// (s+sl)·(t+tl) + e.
	g := float32(s * t)
	gl := fma(sl, t, fma(s, tl, fma(s, t, -g)))
	h = e + g
	l = (g - (h - e)) + gl
	if e == 0 {
		h, l = g, gl
	}
	return h, l
}

// Pow returns x to the power of y.
func Pow(x, y float32) float32 {
	ax := abs(x)
	b, scaled := normal(ax)
	h, l := log2Pair(b, scaled)
	// Beyond these limits, the result is infinite or zero.
	p := float32(h * y)
	pl := fma(l, y, fma(h, y, -p))
	if !(abs(p) < 200) {
		p, pl = num.Max(num.Min(p, 200), -200), 0
	}
	t := p + magic
	n := t - magic
	r := (p - n) + pl
	q := fma(powExpC5, r, powExpC4)
	q = fma(q, r, powExpC3)
	q = fma(q, r, powExpC2)
	q = fma(q, r, powExpC1)
	q = fma(q, r, powExpC0)
	k := int32(math.Float32bits(t)) - magicBits
	half := k >> 1
	v := float32(float32(fma(q, r, 1)*powerOf2(half)) * powerOf2(k-half))
	if !(x > 0) || ax == inf() || !(abs(y) < inf()) || x == 1 || y == 0 {
		return powSpecial(x, y, v)
	}
	return v
}

const magicBits = 0x4b400000

// powerOf2 returns 2^n for n between -126 and 127.
func powerOf2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// powSpecial returns x to the power of y. If both are finite and x is not zero, v must be |x| to
// the power of y.
func powSpecial(x, y, v float32) float32 {
	ax, ay := abs(x), abs(y)
	odd := ay < 0x1p24 && y == Trunc(y) && int32(ay)&1 != 0
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return nan()
	case ay == inf():
		switch {
		case ax == 1:
			return 1
		case (ax < 1) == (y > 0):
			return 0
		}
		return inf()
	case ax == 0 || ax == inf():
		v = inf()
		if (ax == 0) == (y > 0) {
			v = 0
		}
	case y != Trunc(y):
		return nan()
	}
	if odd {
		return withSign(v, x)
	}
	return v
}
