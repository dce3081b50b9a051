// Package exact computes mathematical functions to any precision, slowly. Tests measure the
// errors of other implementations against it, and tools/minimax fits polynomials to it.
//
// Each function returns a result with the precision of its argument. The relative error is a few
// units in the last place of that precision. Arguments must be finite and in the domain of the
// function.
package exact

import (
	"math"
	"math/big"
	"sync"
)

// guard is the number of extra bits that intermediate results have.
const guard = 40

var (
	constantsMutex sync.Mutex
	piCache        = map[uint]*big.Float{}
	ln2Cache       = map[uint]*big.Float{}
)

// New returns x with a precision of prec bits.
func New(prec uint, x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

func at(prec uint) *big.Float { return new(big.Float).SetPrec(prec) }

func round(prec uint, x *big.Float) *big.Float { return at(prec).Set(x) }

// scale returns x·2^n.
func scale(x *big.Float, n int) *big.Float { return at(x.Prec()).SetMantExp(x, n) }

// exponent returns the e for which 2^(e-1) <= |x| < 2^e. For zero, it returns a small number.
func exponent(x *big.Float) int {
	if x.Sign() == 0 {
		return -1 << 30
	}
	return x.MantExp(nil)
}

// Pi returns the number π.
func Pi(prec uint) *big.Float {
	constantsMutex.Lock()
	defer constantsMutex.Unlock()
	if p := piCache[prec]; p != nil {
		return p
	}
	// Machin's formula: π = 16·atan(1/5) - 4·atan(1/239).
	p := round(prec, at(prec+guard).Sub(scale(inverseAtan(prec+guard, 5), 4), scale(inverseAtan(prec+guard, 239), 2)))
	piCache[prec] = p
	return p
}

func inverseAtan(prec uint, n int64) *big.Float {
	power := at(prec).Quo(New(prec, 1), New(prec, float64(n)))
	square, sum := New(prec, float64(n*n)), at(prec)
	for k := int64(1); exponent(power) > -int(prec); k += 2 {
		term := at(prec).Quo(power, New(prec, float64(k)))
		if k%4 == 3 {
			term.Neg(term)
		}
		sum.Add(sum, term)
		power.Quo(power, square)
	}
	return sum
}

// Ln2 returns the natural logarithm of 2.
func Ln2(prec uint) *big.Float {
	constantsMutex.Lock()
	defer constantsMutex.Unlock()
	if p := ln2Cache[prec]; p != nil {
		return p
	}
	// ln 2 = 2·atanh(1/3).
	wp := prec + guard
	p := round(prec, scale(atanhSeries(at(wp).Quo(New(wp, 1), New(wp, 3))), 1))
	ln2Cache[prec] = p
	return p
}

// atanhSeries sums s + s³/3 + s⁵/5 + ….
func atanhSeries(s *big.Float) *big.Float {
	prec := s.Prec()
	square, power, sum := at(prec).Mul(s, s), round(prec, s), round(prec, s)
	for k := 3.0; ; k += 2 {
		power.Mul(power, square)
		term := at(prec).Quo(power, New(prec, k))
		if term.Sign() == 0 || exponent(term) < exponent(sum)-int(prec) {
			return sum
		}
		sum.Add(sum, term)
	}
}

// nearest returns the integer nearest to x.
func nearest(x *big.Float) *big.Int {
	half := New(x.Prec(), 0.5)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	n, _ := at(x.Prec()).Add(x, half).Int(nil)
	return n
}

// Sqrt returns the square root of x.
func Sqrt(x *big.Float) *big.Float { return at(x.Prec()).Sqrt(x) }

// Exp returns e^x.
func Exp(x *big.Float) *big.Float {
	prec := x.Prec()
	const limit = 13
	if exponent(x) > limit {
		// The result is too large or too small for a float64 anyway.
		return scale(New(prec, 1), x.Sign()<<(limit+1))
	}
	wp := prec + guard + uint(max(0, exponent(x)))
	ln2 := Ln2(wp)
	k := nearest(at(wp).Quo(x, ln2))
	r := at(wp).Sub(x, at(wp).Mul(ln2, at(wp).SetInt(k)))
	e := smallExpm1(r)
	e.Add(e, New(wp, 1))
	return round(prec, scale(e, int(k.Int64())))
}

// Expm1 returns e^x - 1.
func Expm1(x *big.Float) *big.Float {
	prec := x.Prec()
	if exponent(x) < 0 {
		return round(prec, smallExpm1(round(prec+guard, x)))
	}
	e := Exp(round(prec+guard, x))
	return round(prec, e.Sub(e, New(prec+guard, 1)))
}

// smallExpm1 returns e^r - 1 for |r| < 1.
func smallExpm1(r *big.Float) *big.Float {
	const halvings = 8
	prec := r.Prec()
	s := scale(r, -halvings)
	sum, term := round(prec, s), round(prec, s)
	for n := 2.0; term.Sign() != 0 && exponent(term) > exponent(sum)-int(prec); n++ {
		term.Quo(term.Mul(term, s), New(prec, n))
		sum.Add(sum, term)
	}
	for range halvings {
		// e^(2s) - 1 = (e^s - 1)·(e^s + 1).
		sum.Mul(sum, at(prec).Add(sum, New(prec, 2)))
	}
	return sum
}

// Exp2 returns 2^x.
func Exp2(x *big.Float) *big.Float {
	wp := x.Prec() + guard + uint(max(0, exponent(x)))
	return round(x.Prec(), Exp(at(wp).Mul(x, Ln2(wp))))
}

// Log returns the natural logarithm of x.
func Log(x *big.Float) *big.Float {
	prec := x.Prec()
	wp := prec + guard
	m := at(wp)
	k := round(wp, x).MantExp(m)
	if near, _ := m.Float64(); near < math.Sqrt2/2 {
		m, k = scale(m, 1), k-1
	}
	l := Log1p(at(wp).Sub(m, New(wp, 1)))
	return round(prec, l.Add(l, at(wp).Mul(Ln2(wp), New(wp, float64(k)))))
}

// Log1p returns the natural logarithm of 1+x.
func Log1p(x *big.Float) *big.Float {
	prec := x.Prec()
	wp := prec + guard
	if exponent(x) > 0 {
		return Log(at(wp+uint(exponent(x))).Add(x, New(wp, 1))).SetPrec(prec)
	}
	if exponent(x) < -10 {
		s := at(wp).Quo(x, at(wp).Add(x, New(wp, 2)))
		return round(prec, scale(atanhSeries(s), 1))
	}
	near, _ := x.Float64()
	y := New(wp, math.Log1p(near))
	for done := uint(40); done < wp; done *= 3 {
		// Halley's iteration for e^y - 1 = x.
		e := Expm1(y)
		d := at(wp).Sub(x, e)
		d.Quo(scale(d, 1), at(wp).Add(at(wp).Add(x, e), New(wp, 2)))
		y.Add(y, d)
	}
	return round(prec, y)
}

// Log2 returns the binary logarithm of x.
func Log2(x *big.Float) *big.Float { return quotient(x.Prec(), Log, x, Ln2) }

// Log10 returns the decimal logarithm of x.
func Log10(x *big.Float) *big.Float {
	return quotient(x.Prec(), Log, x, func(prec uint) *big.Float { return Log(New(prec, 10)) })
}

func quotient(prec uint, f func(*big.Float) *big.Float, x *big.Float, divisor func(uint) *big.Float) *big.Float {
	wp := prec + guard
	return round(prec, at(wp).Quo(f(round(wp, x)), divisor(wp)))
}

// Pow returns x^y for positive x.
func Pow(x, y *big.Float) *big.Float {
	prec := x.Prec()
	wp := prec + guard + uint(max(0, exponent(y))) + 12
	return round(prec, Exp(at(wp).Mul(Log(round(wp, x)), y)))
}

// Cbrt returns the cube root of x.
func Cbrt(x *big.Float) *big.Float {
	prec := x.Prec()
	if x.Sign() == 0 {
		return round(prec, x)
	}
	wp := prec + guard
	m := at(wp)
	k := round(wp, x).MantExp(m)
	for k%3 != 0 {
		m, k = scale(m, -1), k+1
	}
	near, _ := m.Float64()
	y, three := New(wp, math.Cbrt(near)), New(wp, 3)
	for done := uint(40); done < wp; done *= 2 {
		// Newton's iteration: y -= (y - m/y²)/3.
		q := at(wp).Quo(m, at(wp).Mul(y, y))
		y.Sub(y, q.Quo(q.Sub(y, q), three))
	}
	return round(prec, scale(y, k/3))
}
