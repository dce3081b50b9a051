package math

import "math"

// tiny is the limit below which odd functions return their argument.
const tiny = 0x1p-28

// expm1Pair2 returns e^x - 1 as a pair, for x between 0 and 50.
func expm1Pair2(x float64) (h, l float64) {
	h, l, k := expm1Scaled(x)
	s := powerOf2(k)
	return float64(h * s), float64(l * s)
}

// Sinh returns the hyperbolic sine of x.
func Sinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < tiny || x != x:
		return x
	case a > 25:
		return withSign(halfExp(a), x)
	}
	// sinh a = (e + e/(e+1))/2 with e = e^a - 1.
	h, l := expm1Pair2(a)
	d, dl := twoSum(h, 1)
	q, ql := divPair(h, l, d, dl+l)
	h, _ = addPair(h, l, q, ql)
	return withSign(0.5*h, x)
}

// halfExp returns e^a/2 for a above 25.
func halfExp(a float64) float64 {
	if a > 710.5 {
		return math.Inf(1)
	}
	h, _, k := expPair(a, 0)
	return ldexp(h, k-1)
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a > 25:
		return halfExp(a)
	}
	h, l, k := expPair(a, 0)
	s := powerOf2(k)
	h, l = float64(h*s), float64(l*s)
	q, ql := divPair(1, 0, h, l)
	h, _ = addPair(h, l, q, ql)
	return 0.5 * h
}

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < tiny || x != x:
		return x
	case a > 22:
		return withSign(1, x)
	}
	// tanh a = e/(e+2) with e = e^2a - 1.
	h, l := expm1Pair2(a + a)
	d, dl := twoSum(h, 2)
	h, _ = divPair(h, l, d, dl+l)
	return withSign(h, x)
}

// logOfPair returns the logarithm of h+l, for h between 2^-100 and 2^600.
func logOfPair(h, l float64) float64 {
	m, k := splitLog(h)
	h, _ = logPair(m, float64(l*powerOf2(-k)), k)
	return h
}

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a >= tiny) || a > math.MaxFloat64:
		return x
	case a > 0x1p28:
		return withSign(logOfTwice(a), x)
	}
	// asinh a = log(a + √(a²+1)).
	h, l := twoProd(a, a)
	h, l = addPair(h, l, 1, 0)
	h, l = sqrtPair(h, l)
	h, l = addPair(h, l, a, 0)
	return withSign(logOfPair(h, l), x)
}

// logOfTwice returns the logarithm of 2a.
func logOfTwice(a float64) float64 {
	m, k := splitLog(a)
	h, _ := logPair(m, 0, k+1)
	return h
}

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh(x float64) float64 {
	switch {
	case x == 1:
		return 0
	case !(x > 1):
		return math.NaN()
	case x > math.MaxFloat64:
		return x
	case x > 0x1p28:
		return logOfTwice(x)
	}
	// acosh x = log(x + √(x²-1)).
	h, l := twoProd(x, x)
	h, l = addPair(h, l, -1, 0)
	h, l = sqrtPair(h, l)
	h, l = addPair(x, 0, h, l)
	return logOfPair(h, l)
}

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < tiny:
		return x
	case a == 1:
		return withSign(math.Inf(1), x)
	case !(a < 1):
		return math.NaN()
	case a < 0.17:
		h, _ := atanhPair(x, 0, 1, 0)
		return h
	}
	// atanh a = log((1+a)/(1-a))/2.
	n, nl := twoSum(1, a)
	d, dl := twoSum(1, -a)
	h, l := divPair(n, nl, d, dl)
	return withSign(0.5*logOfPair(h, l), x)
}
