package exact

import (
	"math/big"
)

// Erf returns the error function of x.
func Erf(x *big.Float) *big.Float {
	if exponent(x) <= 1 {
		return erfSeries(x)
	}
	prec := x.Prec()
	if x.Sign() < 0 {
		r := Erf(at(prec).Neg(x))
		return r.Neg(r)
	}
	return round(prec, at(prec+guard).Sub(New(prec, 1), Erfc(round(prec+guard, x))))
}

func erfSeries(x *big.Float) *big.Float {
	prec := x.Prec()
	// erf x = 2/√π · x·e^(-x²) · (1 + 2x²/3 + (2x²)²/(3·5) + …), where all terms are positive.
	wp := prec + guard
	square := scale(at(wp).Mul(x, x), 1)
	sum, term := New(wp, 1), New(wp, 1)
	for n := 3.0; term.Sign() != 0 && exponent(term) > exponent(sum)-int(wp); n += 2 {
		term.Quo(term.Mul(term, square), New(wp, n))
		sum.Add(sum, term)
	}
	sum.Mul(sum, Exp(square.Neg(scale(square, -1))))
	sum.Mul(sum, scale(round(wp, x), 1))
	return round(prec, sum.Quo(sum, Sqrt(Pi(wp))))
}

// Erfc returns 1 minus the error function of x.
func Erfc(x *big.Float) *big.Float {
	prec := x.Prec()
	if exponent(x) <= 1 || x.Sign() < 0 {
		wp := prec + guard
		return round(prec, at(wp).Sub(New(wp, 1), Erf(round(wp, x))))
	}
	wp := prec + guard + 2*uint(exponent(x))
	e := Exp(at(wp).Neg(at(wp).Mul(x, x)))
	return round(prec, e.Mul(e, Erfcx(round(wp, x))))
}

// Erfcx returns e^(x²)·erfc(x) for positive x.
func Erfcx(x *big.Float) *big.Float {
	prec := x.Prec()
	wp := prec + guard
	if exponent(x) <= 1 {
		e := Exp(at(wp).Mul(x, x))
		return round(prec, e.Mul(e, at(wp).Sub(New(wp, 1), erfSeries(round(wp, x)))))
	}
	// A continued fraction: 1/√π / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))). About
	// (bits·ln2/(2√2·x))² terms are enough.
	near, _ := x.Float64()
	terms := 20 + int(float64(wp)*float64(wp)*0.07/(near*near))
	sum := round(wp, x)
	for k := terms; k > 0; k-- {
		sum.Quo(New(wp, float64(k)/2), sum)
		sum.Add(sum, x)
	}
	sum.Mul(sum, Sqrt(Pi(wp)))
	return round(prec, sum.Quo(New(wp, 1), sum))
}
