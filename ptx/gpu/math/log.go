package math

import "math"

// logSpecial returns the logarithm of a number that is not both finite and positive.
func logSpecial(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	}
	return x
}

// isSpecial reports whether x has no finite logarithm.
func isSpecial(x float64) bool { return math.Float64bits(x)-1 >= infBits-1 }

// splitLog returns m and k such that x = m·2^k and m is between √½ and √2. x must be finite and
// positive.
func splitLog(x float64) (m float64, k int) {
	k = 0
	if x < 0x1p-1022 {
		x, k = float64(x*0x1p54), -54
	}
	// The upper 32 bits are sufficient.
	const sqrtHalf = 0x3fe6a09e
	e := int32(uint32(math.Float64bits(x)>>32)-sqrtHalf) >> 20
	return scaled(x, -e), k + int(e)
}

// logPair returns the logarithm of (m+ml)·2^k as a pair, for m between 0.7 and 1.42. The relative
// error is below 2^-65.
func logPair(m, ml float64, k int) (h, l float64) {
	b, bl := twoSum(m, 1)
	h, l = atanhPair(m-1, ml, b, bl+ml)
	// log m = 2·atanh((m-1)/(m+1)).
	h, l = h+h, l+l
	n := float64(k)
	ph, pl := twoProd(n, ln2)
	pl = math.FMA(n, ln2Low, pl)
	return addPair(ph, pl, h, l)
}

// atanhPair returns the inverse hyperbolic tangent of (a+al)/(b+bl) as a pair. The magnitude of the
// quotient must be below 0.1717.
func atanhPair(a, al, b, bl float64) (h, l float64) {
	s, sl := divPair(a, al, b, bl)
	u, ul := mulPair(s, sl, s, sl)
	p := math.FMA(logC8, u, logC7)
	p = math.FMA(p, u, logC6)
	p = math.FMA(p, u, logC5)
	p = math.FMA(p, u, logC4)
	p = math.FMA(p, u, logC3)
	p = math.FMA(p, u, logC2)
	p = math.FMA(p, u, logC1)
	p = math.FMA(p, u, logC0)
	// s + s·(u/3 + u²·p).
	th, tl := mulPair(u, ul, third, thirdLow)
	th, tl = fastTwoSum(th, math.FMA(float64(u*u), p, tl))
	th, tl = mulPair(th, tl, s, sl)
	h, l = fastTwoSum(s, th)
	return fastTwoSum(h, l+(tl+sl))
}

const (
	third       = 0x1.5555555555555p-02
	thirdLow    = 0x1.5555555555555p-56
	log2eLow    = 0x1.777d0ffda0d24p-56
	log10e      = 0x1.bcb7b1526e50ep-02
	log10eLow   = 0x1.95355baaafad3p-57
	log10Of2    = 0x1.34413509f79ffp-02
	log10Of2Low = -0x1.9dc1da994fd21p-59
)

// Log returns the natural logarithm of x.
func Log(x float64) float64 {
	if isSpecial(x) {
		return logSpecial(x)
	}
	m, k := splitLog(x)
	// log m = 2s + s³·P(s²) = f - (f²/2 - s·(f²/2 + r)).
	f := m - 1
	s := f / (f + 2)
	u := float64(s * s)
	p := math.FMA(ratioC6, u, ratioC5)
	p = math.FMA(p, u, ratioC4)
	p = math.FMA(p, u, ratioC3)
	p = math.FMA(p, u, ratioC2)
	p = math.FMA(p, u, ratioC1)
	p = math.FMA(p, u, ratioC0)
	r := float64(p * u)
	q := float64(float64(0.5*f) * f)
	// The product of k and the upper bits of ln 2 is exact.
	const ln2Upper, ln2Lower = 0x1.62e42fefa30p-1, 0x1.3de6af278ece6p-42
	n := float64(k)
	h, l := fastTwoSum(float64(n*ln2Upper), f)
	return h - ((q - math.FMA(s, q+r, float64(n*ln2Lower))) - l)
}

// logBase returns the logarithm of x to base b. The pairs are log_b(e) and log_b(2).
func logBase(x, eh, el, th, tl float64) float64 {
	if isSpecial(x) {
		return logSpecial(x)
	}
	m, k := splitLog(x)
	h, l := logPair(m, 0, 0)
	h, l = mulPair(h, l, eh, el)
	n := float64(k)
	ph, pl := twoProd(n, th)
	h, _ = addPair(ph, math.FMA(n, tl, pl), h, l)
	return h
}

// Log2 returns the binary logarithm of x.
func Log2(x float64) float64 { return logBase(x, log2e, log2eLow, 1, 0) }

// Log10 returns the decimal logarithm of x.
func Log10(x float64) float64 { return logBase(x, log10e, log10eLow, log10Of2, log10Of2Low) }

// Log1p returns the natural logarithm of 1+x. It is accurate even if x is close to zero.
func Log1p(x float64) float64 {
	switch {
	case !(x > -1) || x > math.MaxFloat64:
		return logSpecial(x + 1)
	case math.Abs(x) < 0x1p-54:
		return x
	case x < 0.4 && x > -0.29:
		b, bl := fastTwoSum(2, x)
		h, _ := atanhPair(x, 0, b, bl)
		return h + h
	}
	s, sl := twoSum(1, x)
	m, k := splitLog(s)
	if k > 1000 {
		sl = 0 // sl is negligible here
	} else {
		sl = float64(sl * powerOf2(-k))
	}
	h, _ := logPair(m, sl, k)
	return h
}
