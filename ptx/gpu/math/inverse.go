package math

import "math"

const (
	pi           = 0x1.921fb54442d18p+01
	piLow        = 0x1.1a62633145c07p-53
	quarterPi    = 0x1.921fb54442d18p-01
	quarterPiLow = 0x1.1a62633145c07p-55
)

// asinSeries returns asin(√z)/√z - 1 for z up to 0.25.
func asinSeries(z float64) float64 {
	p := math.FMA(asinC12, z, asinC11)
	p = math.FMA(p, z, asinC10)
	p = math.FMA(p, z, asinC9)
	p = math.FMA(p, z, asinC8)
	p = math.FMA(p, z, asinC7)
	p = math.FMA(p, z, asinC6)
	p = math.FMA(p, z, asinC5)
	p = math.FMA(p, z, asinC4)
	p = math.FMA(p, z, asinC3)
	p = math.FMA(p, z, asinC2)
	p = math.FMA(p, z, asinC1)
	p = math.FMA(p, z, asinC0)
	return float64(p * z)
}

// asinRoot returns the inverse sine of √z as a sum of two numbers.
func asinRoot(z float64) (h, l float64) {
	if z == 0 {
		return 0, 0
	}
	s, c := sqrtPair(z, 0)
	p := asinSeries(z)
	return s, math.FMA(s, p, math.FMA(c, p, c))
}

// Asin returns the inverse sine of x, in radians.
func Asin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < tiny:
		return x
	case !(a <= 1):
		return math.NaN()
	case a <= 0.5:
		return math.FMA(asinSeries(float64(x*x)), x, x)
	}
	// asin a = π/2 - 2·asin(√((1-a)/2)).
	s, t := asinRoot(0.5 * (1 - a))
	h, l := twoSum(halfPi, -2*s)
	return withSign(h+(l+math.FMA(-2, t, halfPi2)), x)
}

// Acos returns the inverse cosine of x, in radians.
func Acos(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a <= 1):
		return math.NaN()
	case a <= 0.5:
		t := float64(asinSeries(float64(x*x)) * x)
		h, l := twoSum(halfPi, -x)
		return h + (l + (halfPi2 - t))
	}
	s, t := asinRoot(0.5 * (1 - a))
	if x > 0 {
		return 2 * (s + t)
	}
	h, l := twoSum(pi, -2*s)
	return h + (l + math.FMA(-2, t, piLow))
}

// atanPair returns the inverse tangent of t+tl as a sum of two numbers, for |t| below 0.4143.
func atanPair(t, tl float64) (h, l float64) {
	u := float64(t * t)
	p := math.FMA(atanC11, u, atanC10)
	p = math.FMA(p, u, atanC9)
	p = math.FMA(p, u, atanC8)
	p = math.FMA(p, u, atanC7)
	p = math.FMA(p, u, atanC6)
	p = math.FMA(p, u, atanC5)
	p = math.FMA(p, u, atanC4)
	p = math.FMA(p, u, atanC3)
	p = math.FMA(p, u, atanC2)
	p = math.FMA(p, u, atanC1)
	p = math.FMA(p, u, atanC0)
	return t, math.FMA(float64(p*u), t, math.FMA(-tl, u, tl))
}

// atanQuotient returns the inverse tangent of y/x as a pair. x and y must be positive, and y/x
// between 2^-60 and 2^60.
func atanQuotient(y, x float64) (h, l float64) {
	switch {
	case y <= float64(0.414*x):
		t, tl := divPair(y, 0, x, 0)
		h, l = atanPair(t, tl)
		return fastTwoSum(h, l)
	case y < float64(2.414*x):
		n, nl := twoSum(y, -x)
		d, dl := twoSum(y, x)
		t, tl := divPair(n, nl, d, dl)
		h, l = atanPair(t, tl)
		return addPair(quarterPi, quarterPiLow, h, l)
	}
	t, tl := divPair(-x, 0, y, 0)
	h, l = atanPair(t, tl)
	return addPair(halfPi, halfPi2, h, l)
}

// Atan returns the inverse tangent of x, in radians.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case !(a >= tiny):
		return x
	case a > 0x1p60:
		return withSign(halfPi, x)
	case a <= 0.414:
		h, l := atanPair(x, 0)
		return h + l
	}
	h, _ := atanQuotient(a, 1)
	return withSign(h, x)
}

// Atan2 returns the angle of the point (x, y), in radians between -π and π.
func Atan2(y, x float64) float64 {
	ay, ax := math.Abs(y), math.Abs(x)
	negative := math.Float64bits(x)&signBit != 0
	switch {
	case x != x || y != y:
		return math.NaN()
	case ay == 0 || ax > math.MaxFloat64 && ay <= math.MaxFloat64:
		if negative {
			return withSign(pi, y)
		}
		return withSign(0, y)
	case ax > math.MaxFloat64: // ay is infinite as well
		if negative {
			return withSign(0x1.2d97c7f3321d2p+01, y)
		}
		return withSign(quarterPi, y)
	}
	ey, ex := exponent(ay), exponent(ax)
	switch {
	case ax == 0 || ay > math.MaxFloat64 || ey-ex > 58:
		return withSign(halfPi, y)
	case ey-ex < -58:
		if negative {
			return withSign(pi, y)
		}
		return y / x
	}
	e := ex
	if e < ey {
		e = ey
	}
	h, l := atanQuotient(ldexp(ay, -e), ldexp(ax, -e))
	if negative {
		h, _ = addPair(pi, piLow, -h, -l)
	}
	return withSign(h, y)
}
