package math32

import "math"

// split returns e and f such that the number with the given bits is (1+f)·2^e, where f is between
// -1/3 and 1/3.
func split(bits uint32) (e, f float32) {
	high := int32(bits-0x3f2aaaab) &^ (1<<23 - 1)
	return float32(float32(high) * 0x1p-23), math.Float32frombits(bits-uint32(high)) - 1
}

// normal returns the bits of x and the exponent 0. If x is subnormal, it returns the bits of 2^23·x
// and the exponent -23.
func normal(x float32) (bits uint32, e float32) {
	if x < 0x1p-126 {
		return math.Float32bits(float32(x * 0x1p23)), -23
	}
	return math.Float32bits(x), 0
}

// logPolynomial returns (log(1+f) - f)/f².
func logPolynomial(f float32) float32 {
	p := fma(logC8, f, logC7)
	p = fma(p, f, logC6)
	p = fma(p, f, logC5)
	p = fma(p, f, logC4)
	p = fma(p, f, logC3)
	p = fma(p, f, logC2)
	p = fma(p, f, logC1)
	return fma(p, f, logC0)
}

// Log returns the natural logarithm of x.
func Log(x float32) float32 {
	bits, scaled := normal(x)
	e, f := split(bits)
	p := logPolynomial(f)
	r := fma(float32(p*f), f, f)
	r = fma(e+scaled, math.Ln2, r)
	return logLimits(r, x, bits)
}

// logLimits returns r, which must be the logarithm of x. If x has no finite logarithm, it returns
// the correct result instead. bits are the bits of x.
func logLimits(r, x float32, bits uint32) float32 {
	if bits >= infBits {
		r = fma(x, inf(), inf()) // infinity for infinity, otherwise a NaN
	}
	if x == 0 {
		r = -inf()
	}
	return r
}

// Log2 returns the binary logarithm of x.
func Log2(x float32) float32 {
	bits, scaled := normal(x)
	e, f := split(bits)
	p := fma(log2C8, f, log2C7)
	p = fma(p, f, log2C6)
	p = fma(p, f, log2C5)
	p = fma(p, f, log2C4)
	p = fma(p, f, log2C3)
	p = fma(p, f, log2C2)
	p = fma(p, f, log2C1)
	p = fma(p, f, log2C0)
	r := fma(f, log2e, float32(fma(p, f, log2eLow)*f))
	return logLimits((e+scaled)+r, x, bits)
}

// Log10 returns the decimal logarithm of x.
func Log10(x float32) float32 {
	const (
		log10e    = 0x1.bcb7b2p-02
		log10eLow = -0x1.5b235ep-27
		// The sum of two and twoLow is log10(2). The product of two and an exponent is exact.
		two    = 0x1.344p-02
		twoLow = 0x1.3509f8p-18
	)
	bits, scaled := normal(x)
	e, f := split(bits)
	e += scaled
	p := fma(log10C8, f, log10C7)
	p = fma(p, f, log10C6)
	p = fma(p, f, log10C5)
	p = fma(p, f, log10C4)
	p = fma(p, f, log10C3)
	p = fma(p, f, log10C2)
	p = fma(p, f, log10C1)
	p = fma(p, f, log10C0)
	r := fma(f, log10e, float32(fma(p, f, log10eLow)*f))
	return logLimits(fma(e, two, fma(e, twoLow, r)), x, bits)
}

// Log1p returns the natural logarithm of 1+x. It is accurate even if x is close to zero.
func Log1p(x float32) float32 {
	f, fl, _, e := split1p(x)
	// The result has the same sign as x, even if the result is zero.
	r := withSign(abs(logSplit(f, fl, e)), x)
	return logLimits(r, 1+x, math.Float32bits(1+x))
}

// log1pPair returns the natural logarithm of 1+x+xl, where |xl| is at most half an ulp of x and the sum is
// finite and at least 1.
func log1pPair(x, xl float32) float32 {
	f, fl, s, e := split1p(x)
	return logSplit(f, fma(s, xl, fl), e)
}

// split1p returns e, f+fl and s such that 1+x = (1+f+fl)·2^n, s = 2^-n and e = 2^23·n, for a finite x above
// -1. f is between -1/3 and 1/3.
func split1p(x float32) (f, fl, s, e float32) {
	high := int32(math.Float32bits(1+x)-0x3f2aaaab) &^ (1<<23 - 1)
	// 2^-n may be too small to represent, so s is a quarter of 4·2^-n.
	s = 0.25 * math.Float32frombits(0x40800000-uint32(high))
	c := s - 1
	f = fma(s, x, c)
	return f, fma(s, x, c-f), s, float32(high)
}

// logSplit returns the natural logarithm of (1+f+fl)·2^(e·2^-23).
func logSplit(f, fl, e float32) float32 {
	r := f + fma(float32(logPolynomial(f)*f), f, fl)
	return fma(e, math.Ln2*0x1p-23, r)
}
