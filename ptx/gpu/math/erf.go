package math

import "math"

// erfPair returns the error function of x as a pair, for |x| up to 0.75.
func erfPair(x float64) (h, l float64) {
	u, ul := twoProd(x, x)
	p := math.FMA(erfC11, u, erfC10)
	p = math.FMA(p, u, erfC9)
	p = math.FMA(p, u, erfC8)
	p = math.FMA(p, u, erfC7)
	p = math.FMA(p, u, erfC6)
	p = math.FMA(p, u, erfC5)
	p = math.FMA(p, u, erfC4)
	p = math.FMA(p, u, erfC3)
	p = math.FMA(p, u, erfC2)
	h, l = fastTwoSum(erfC1, math.FMA(p, u, erfC1Low))
	h, l = mulPair(h, l, u, ul)
	h, l = addPair(erfC0, erfC0Low, h, l)
	return mulPair(h, l, x, 0)
}

// erfcPair returns 1 - erf(x) as a pair, scaled by 2^k, for x between 0.75 and 27.3.
func erfcPair(x float64) (h, l float64, k int) {
	n, nl := twoSum(x, -4)
	d, dl := twoSum(x, 4)
	t, tl := divPair(n, nl, d, dl)
	p := math.FMA(erfcC22, t, erfcC21)
	p = math.FMA(p, t, erfcC20)
	p = math.FMA(p, t, erfcC19)
	p = math.FMA(p, t, erfcC18)
	p = math.FMA(p, t, erfcC17)
	p = math.FMA(p, t, erfcC16)
	p = math.FMA(p, t, erfcC15)
	p = math.FMA(p, t, erfcC14)
	p = math.FMA(p, t, erfcC13)
	p = math.FMA(p, t, erfcC12)
	p = math.FMA(p, t, erfcC11)
	p = math.FMA(p, t, erfcC10)
	p = math.FMA(p, t, erfcC9)
	p = math.FMA(p, t, erfcC8)
	p = math.FMA(p, t, erfcC7)
	p = math.FMA(p, t, erfcC6)
	p = math.FMA(p, t, erfcC5)
	p = math.FMA(p, t, erfcC4)
	p = math.FMA(p, t, erfcC3)
	p = math.FMA(p, t, erfcC2)
	h, l = twoSum(erfcC1, float64(p*t))
	h, l = mulPair(h, l+erfcC1Low, t, tl)
	h, l = addPair(erfcC0, erfcC0Low, h, l)
	d, dl = twoSum(x+x, 1)
	h, l = divPair(h, l, d, dl)
	s, sl := twoProd(x, x)
	e, el, k := expPair(-s, -sl)
	h, l = mulPair(h, l, e, el)
	return h, l, k
}

// Erf returns the error function of x.
func Erf(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a > 6:
		return withSign(1, x)
	case a < 0x1p-500:
		// The factors are scaled so that the second coefficient contributes even if x is subnormal.
		return float64(math.FMA(erfC0, float64(x*0x1p60), float64(erfC0Low*float64(x*0x1p60))) * 0x1p-60)
	case a <= 0.75:
		h, _ := erfPair(x)
		return h
	}
	h, l, k := erfcPair(a)
	s := powerOf2(k)
	h, _ = addPair(1, 0, -float64(h*s), -float64(l*s))
	return withSign(h, x)
}

// Erfc returns the complementary error function of x, 1 - erf(x). It is accurate for large x.
func Erfc(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 27.3:
		return 0
	case x < -6:
		return 2
	case math.Abs(x) < 0x1p-60:
		return 1
	case math.Abs(x) <= 0.75:
		h, l := erfPair(x)
		h, _ = addPair(1, 0, -h, -l)
		return h
	}
	h, l, k := erfcPair(math.Abs(x))
	if x > 0 {
		return ldexp(h, k)
	}
	s := powerOf2(k)
	h, _ = addPair(2, 0, -float64(h*s), -float64(l*s))
	return h
}
