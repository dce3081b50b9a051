package math

import "math"

// Exp returns e to the power of x.
func Exp(x float64) float64 {
	t := math.FMA(x, log2e, magic)
	k := int32(math.Float64bits(t))
	n := t - magic
	r := math.FMA(-n, ln2Low, math.FMA(-n, ln2, x))
	p := math.FMA(expC9, r, expC8)
	p = math.FMA(p, r, expC7)
	p = math.FMA(p, r, expC6)
	p = math.FMA(p, r, expC5)
	p = math.FMA(p, r, expC4)
	p = math.FMA(p, r, expC3)
	p = math.FMA(p, r, expC2)
	p = math.FMA(p, r, expC1)
	p = math.FMA(p, r, expC0)
	p = math.FMA(p, r, 1)
	p = math.FMA(p, r, 1)
	if !(math.Abs(x) < 708) {
		return expLimits(x, p, k)
	}
	return scaled(p, k)
}

// expLimits returns p·2^k = e^x, unless the result is zero or infinite.
func expLimits(x, p float64, k int32) float64 {
	switch {
	case x > 709.79:
		return float64(x * math.MaxFloat64)
	case x < -745.2:
		return 0
	}
	return ldexp(p, int(k))
}

// Exp2 returns 2 to the power of x.
func Exp2(x float64) float64 {
	t := x + magic
	k := int32(math.Float64bits(t))
	r := x - (t - magic)
	p := math.FMA(exp2C10, r, exp2C9)
	p = math.FMA(p, r, exp2C8)
	p = math.FMA(p, r, exp2C7)
	p = math.FMA(p, r, exp2C6)
	p = math.FMA(p, r, exp2C5)
	p = math.FMA(p, r, exp2C4)
	p = math.FMA(p, r, exp2C3)
	p = math.FMA(p, r, exp2C2)
	p = math.FMA(p, r, exp2C1)
	p = math.FMA(p, r, exp2C0Low)
	p = math.FMA(exp2C0, r, float64(p*r))
	p++
	if !(math.Abs(x) < 1021) {
		return expLimits(float64(math.Ln2*x), p, k)
	}
	return scaled(p, k)
}

// expm1Pair returns e^(r+rl) - 1 as a pair, for |r| below 0.35. The relative error is below 2^-60.
func expm1Pair(r, rl float64) (h, l float64) {
	p := math.FMA(expm1C9, r, expm1C8)
	p = math.FMA(p, r, expm1C7)
	p = math.FMA(p, r, expm1C6)
	p = math.FMA(p, r, expm1C5)
	p = math.FMA(p, r, expm1C4)
	p = math.FMA(p, r, expm1C3)
	p = math.FMA(p, r, expm1C2)
	p = math.FMA(p, r, expm1C1)
	p = math.FMA(p, r, expm1C0)
	// r + r²/2 + r³·p, with rl·(1 + r) added to the second number.
	sh, sl := twoProd(r, 0.5*r)
	t := math.FMA(float64(float64(r*r)*r), p, math.FMA(rl, r, rl)+sl)
	h, l = fastTwoSum(r, sh)
	return fastTwoSum(h, l+t)
}

// reduceExp returns k and the pair x+xl - k·ln 2, for x between -745.2 and 709.79.
func reduceExp(x, xl float64) (k int, r, rl float64) {
	t := math.FMA(x, log2e, magic)
	k = int(int32(math.Float64bits(t)))
	n := t - magic
	// The difference is exact if n is not zero, because x is close to n·ln2.
	ph, pl := twoProd(n, ln2)
	r, rl = twoSum(x, -ph)
	rl += math.FMA(-n, ln2Low, xl-pl)
	r, rl = fastTwoSum(r, rl)
	return k, r, rl
}

// expPair returns a pair and k such that e^(x+xl) is the pair times 2^k.
func expPair(x, xl float64) (h, l float64, k int) {
	k, r, rl := reduceExp(x, xl)
	h, l = expm1Pair(r, rl)
	h, m := fastTwoSum(1, h)
	h, l = fastTwoSum(h, m+l)
	return h, l, k
}

// expOfPair returns e^(x+xl), rounded. If x is infinite, xl must be finite.
func expOfPair(x, xl float64) float64 {
	switch {
	case x > 709.79:
		return math.Inf(1)
	case x < -745.2:
		return 0
	}
	h, _, k := expPair(x, xl)
	return ldexp(h, k)
}

// Expm1 returns e to the power of x, minus 1. It is accurate even if x is close to zero.
func Expm1(x float64) float64 {
	switch {
	case x > 709.79:
		return float64(x * math.MaxFloat64)
	case x < -38:
		return -1
	case math.Abs(x) < 0x1p-54:
		return x
	}
	h, _, k := expm1Scaled(x)
	return ldexp(h, k)
}

// expm1Scaled returns a pair and k such that e^x - 1 is the pair times 2^k.
func expm1Scaled(x float64) (h, l float64, k int) {
	k, r, rl := reduceExp(x, 0)
	h, l = expm1Pair(r, rl)
	// e^x - 1 = 2^k·(h + (1 - 2^-k)). Beyond 2^1000, subtracting 1 makes no difference.
	if k != 0 {
		n := -k
		if n < -1000 {
			n = -1000
		}
		c, d := twoSum(1, -powerOf2(n))
		h, l = addPair(c, d, h, l)
	}
	return h, l, k
}
