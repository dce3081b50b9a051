package math

import "math"

// exponent returns e such that 2^e <= |x| < 2^(e+1). It returns -1023 for zero and subnormal
// numbers, and 1024 for infinities and NaNs.
func exponent(x float64) int { return int(math.Float64bits(x)>>52&0x7ff) - 1023 }

// cbrtPair returns a pair and k such that the cube root of x is the pair times 2^k. x must be
// finite and positive.
func cbrtPair(x float64) (h, l float64, k int) {
	k = 0
	if x < 0x1p-1022 {
		x, k = float64(x*0x1p54), -18
	}
	// x = m·8^j with m between 1 and 8.
	e := exponent(x)
	j := (e + 1200) / 3
	m := math.Float64frombits(math.Float64bits(x)&(1<<52-1) | uint64(e+1200-j-j-j+1023)<<52)
	k += j - 400
	// Dividing the exponent and the significand by three approximates the cube root with an error
	// of 6 %.
	t := math.Float64frombits(math.Float64bits(m)/3 + 0x2a9f7893782da1ce)
	// Two iterations of Halley's method.
	for range 2 {
		c := float64(t * float64(t*t))
		t = float64(float64(t*(c+m+m)) / (c + c + m))
	}
	// One iteration of Newton's method, with a product of 106 bits.
	s, sl := twoProd(t, t)
	c, cl := twoProd(s, t)
	r := (m - c) - math.FMA(sl, t, cl)
	h, l = fastTwoSum(t, r/float64(3*s))
	return h, l, k
}

// Cbrt returns the cube root of x.
func Cbrt(x float64) float64 {
	if x == 0 || x-x != 0 {
		return x
	}
	h, _, k := cbrtPair(math.Abs(x))
	return withSign(ldexp(h, k), x)
}

// Rcbrt returns 1 divided by the cube root of x.
func Rcbrt(x float64) float64 {
	if x == 0 || x-x != 0 {
		return 1 / x
	}
	h, l, k := cbrtPair(math.Abs(x))
	h, _ = divPair(1, 0, h, l)
	return withSign(ldexp(h, -k), x)
}

// Rsqrt returns 1 divided by the square root of x.
func Rsqrt(x float64) float64 {
	y := 1 / math.Sqrt(x)
	if x == 0 || y-y != 0 || y == 0 {
		return y
	}
	h, l := twoProd(x, y)
	return math.FMA(0.5*y, math.FMA(-l, y, math.FMA(-h, y, 1)), y)
}

// Hypot returns the square root of p²+q². The squares do not overflow.
func Hypot(p, q float64) float64 {
	a, b := math.Abs(p), math.Abs(q)
	if a < b || a != a {
		a, b = b, a
	}
	switch {
	case a > math.MaxFloat64 || b > math.MaxFloat64:
		return math.Inf(1)
	case a != a || b != b:
		return math.NaN()
	case a == 0:
		return 0
	}
	e := exponent(a)
	a, b = ldexp(a, -e), ldexp(b, -e)
	if b < 0x1p-60 {
		return ldexp(a, e)
	}
	h, l := twoProd(a, a)
	g, gl := twoProd(b, b)
	h, l = addPair(h, l, g, gl)
	h, _ = sqrtPair(h, l)
	return ldexp(h, e)
}
