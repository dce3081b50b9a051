package exact

import (
	"math"
	"math/big"
)

// SinCos returns the sine and the cosine of x.
func SinCos(x *big.Float) (sin, cos *big.Float) {
	prec := x.Prec()
	wp := prec + guard
	k, r := reduce(x, wp)
	sin, cos = smallSinCos(r)
	if k&1 != 0 {
		sin, cos = cos, sin.Neg(sin)
	}
	if k&2 != 0 {
		sin.Neg(sin)
		cos.Neg(cos)
	}
	return round(prec, sin), round(prec, cos)
}

// reduce returns x - k·π/2, and the last two bits of k.
func reduce(x *big.Float, wp uint) (k int64, r *big.Float) {
	for bits := wp + uint(max(0, exponent(x))) + 64; ; bits *= 2 {
		half := scale(Pi(bits), -1)
		n := nearest(at(bits).Quo(x, half))
		r := at(bits).Sub(x, at(bits).Mul(half, at(bits).SetInt(n)))
		// The absolute error is below 2^(exponent(x)-bits).
		if n.Sign() == 0 || exponent(r)-int(wp) > exponent(x)+2-int(bits) {
			return int64(n.Bit(0)) | int64(n.Bit(1))<<1, round(wp, r)
		}
	}
}

func smallSinCos(r *big.Float) (sin, cos *big.Float) {
	prec := r.Prec()
	square := at(prec).Mul(r, r)
	series := func(first *big.Float, n float64) *big.Float {
		sum, term := round(prec, first), round(prec, first)
		for ; term.Sign() != 0 && exponent(term) > exponent(sum)-int(prec); n += 2 {
			term.Quo(term.Mul(term, square), New(prec, -n*(n+1)))
			sum.Add(sum, term)
		}
		return sum
	}
	return series(r, 2), series(New(prec, 1), 1)
}

// Sin returns the sine of x.
func Sin(x *big.Float) *big.Float { s, _ := SinCos(x); return s }

// Cos returns the cosine of x.
func Cos(x *big.Float) *big.Float { _, c := SinCos(x); return c }

// Tan returns the tangent of x.
func Tan(x *big.Float) *big.Float {
	s, c := SinCos(round(x.Prec()+guard, x))
	return round(x.Prec(), s.Quo(s, c))
}

// SinPi returns the sine of π·x.
func SinPi(x *big.Float) *big.Float { return timesPi(x, Sin) }

// CosPi returns the cosine of π·x.
func CosPi(x *big.Float) *big.Float { return timesPi(x, Cos) }

func timesPi(x *big.Float, f func(*big.Float) *big.Float) *big.Float {
	wp := x.Prec() + guard
	// The functions have the period 2.
	n := nearest(scale(x, -1))
	r := at(x.Prec()+uint(max(0, exponent(x)))).Sub(x, scale(at(uint(n.BitLen())+1).SetInt(n), 1))
	return round(x.Prec(), f(at(wp).Mul(r, Pi(wp))))
}

// Atan returns the inverse tangent of x.
func Atan(x *big.Float) *big.Float {
	prec := x.Prec()
	if x.Sign() == 0 {
		return round(prec, x)
	}
	wp := prec + guard
	if at(wp).Abs(x).Cmp(New(wp, 1)) > 0 {
		r := Atan(at(wp).Quo(New(wp, 1), x))
		half := scale(Pi(wp), -1)
		if x.Sign() < 0 {
			half.Neg(half)
		}
		return round(prec, half.Sub(half, r))
	}
	near, _ := x.Float64()
	if exponent(x) < -500 {
		return round(prec, x)
	}
	y := New(wp, math.Atan(near))
	for done := uint(40); done < wp; done *= 3 {
		s, c := SinCos(y)
		// atan x = y + atan((x·cos y - sin y)/(cos y + x·sin y)).
		n := at(wp).Sub(at(wp).Mul(x, c), s)
		y.Add(y, n.Quo(n, at(wp).Add(c, at(wp).Mul(x, s))))
	}
	return round(prec, y)
}

// Asin returns the inverse sine of x.
func Asin(x *big.Float) *big.Float {
	wp := x.Prec() + guard
	return round(x.Prec(), quadrant(round(wp, x), cofactor(x, wp)))
}

// Acos returns the inverse cosine of x.
func Acos(x *big.Float) *big.Float {
	wp := x.Prec() + guard
	return round(x.Prec(), quadrant(cofactor(x, wp), round(wp, x)))
}

// cofactor returns the square root of 1-x².
func cofactor(x *big.Float, wp uint) *big.Float {
	exactly := uint(4000)
	d := at(exactly).Sub(New(exactly, 1), at(exactly).Mul(x, x))
	return at(wp).Sqrt(round(wp, d))
}

// quadrant returns the angle of the point (x, y). The angle must be between -π/2 and π.
func quadrant(y, x *big.Float) *big.Float { return Atan2(y, x) }

// Atan2 returns the angle of the point (x, y), which must not be the origin.
func Atan2(y, x *big.Float) *big.Float {
	prec := y.Prec()
	wp := prec + guard
	if x.Sign() == 0 {
		half := scale(Pi(prec), -1)
		if y.Sign() < 0 {
			half.Neg(half)
		}
		return half
	}
	a := Atan(at(wp).Quo(y, x))
	if x.Sign() < 0 {
		pi := round(wp, Pi(wp))
		if y.Sign() < 0 || y.Sign() == 0 && y.Signbit() {
			pi.Neg(pi)
		}
		a.Add(a, pi)
	}
	return round(prec, a)
}

// negate returns -f(-x).
func negate(f func(*big.Float) *big.Float, x *big.Float) *big.Float {
	r := f(at(x.Prec()).Neg(x))
	return r.Neg(r)
}

// Sinh returns the hyperbolic sine of x.
func Sinh(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return negate(Sinh, x)
	}
	wp := x.Prec() + guard
	e := Expm1(round(wp, x))
	// sinh x = (e + e/(e+1))/2 with e = e^x - 1.
	return round(x.Prec(), scale(at(wp).Add(e, at(wp).Quo(e, at(wp).Add(e, New(wp, 1)))), -1))
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x *big.Float) *big.Float {
	wp := x.Prec() + guard
	e := Exp(round(wp, x))
	return round(x.Prec(), scale(at(wp).Add(e, at(wp).Quo(New(wp, 1), e)), -1))
}

// Tanh returns the hyperbolic tangent of x.
func Tanh(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return negate(Tanh, x)
	}
	wp := x.Prec() + guard
	e := Expm1(scale(round(wp, x), 1))
	return round(x.Prec(), at(wp).Quo(e, at(wp).Add(e, New(wp, 2))))
}

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(x *big.Float) *big.Float {
	wp := x.Prec() + guard
	if x.Sign() < 0 {
		return negate(Asinh, x)
	}
	// asinh x = log1p(x + x²/(1 + √(x²+1))).
	square := at(wp).Mul(x, x)
	root := at(wp).Sqrt(at(wp).Add(square, New(wp, 1)))
	u := at(wp).Quo(square, root.Add(root, New(wp, 1)))
	return round(x.Prec(), Log1p(u.Add(u, x)))
}

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh(x *big.Float) *big.Float {
	wp := x.Prec() + guard
	// acosh x = log1p(t + √(t·(t+2))) with t = x-1.
	t := at(wp).Sub(x, New(wp, 1))
	root := at(wp).Sqrt(at(wp).Mul(t, at(wp).Add(t, New(wp, 2))))
	return round(x.Prec(), Log1p(root.Add(root, t)))
}

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return negate(Atanh, x)
	}
	wp := x.Prec() + guard
	if exponent(x) < -5 {
		return round(x.Prec(), atanhSeries(round(wp, x)))
	}
	u := at(wp).Quo(scale(round(wp, x), 1), at(wp).Sub(New(wp, 1), x))
	return round(x.Prec(), scale(Log1p(u), -1))
}
