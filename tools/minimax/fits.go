package main

import (
	"math"
	"math/big"

	"github.com/purecuda/cuda/internal/exact"
)

// A pkg is a package for which polynomials are generated.
type pkg struct {
	name, file string
	fits       []fit
}

var packages = []pkg{
	{"math32", "ptx/gpu/math32/coefficients.go", fits32},
	{"math", "ptx/gpu/math/coefficients.go", fits64},
}

type function = func(*big.Float) *big.Float

// after returns (f(x) - the given terms)/x^k. The terms are coefficients of x^0, x^1, ….
func after(f function, k int, terms ...float64) function {
	return func(x *big.Float) *big.Float {
		// The subtraction cancels leading digits, so f is computed with a higher precision.
		long := new(big.Float).SetPrec(4 * prec).Set(x)
		d := f(long)
		p := new(big.Float).SetPrec(4 * prec).SetFloat64(1)
		for _, t := range terms {
			c := new(big.Float).SetPrec(4 * prec).SetFloat64(t)
			d.Sub(d, c.Mul(c, p))
			p.Mul(p, long)
		}
		return zero().Set(d.Quo(d, longPower(long, k)))
	}
}

func longPower(x *big.Float, k int) *big.Float {
	p := new(big.Float).SetPrec(x.Prec()).SetFloat64(1)
	for range k {
		p.Mul(p, x)
	}
	return p
}

// ofSquare returns f as a function of u = x².
func ofSquare(f function) function {
	return func(u *big.Float) *big.Float {
		return zero().Set(f(new(big.Float).SetPrec(5 * prec).Sqrt(new(big.Float).SetPrec(5 * prec).Set(u))))
	}
}

// per returns |x^k/f(x)|, the weight for a relative error of f.
func per(k int, f function) function {
	return func(x *big.Float) *big.Float {
		w := zero().Quo(longPower(zero().Set(x), k), f(zero().Set(x)))
		return w.Abs(w)
	}
}

// perPower2 returns x^k divided by the power of 2 above f(x), the weight for an error in ulps of f.
func perPower2(k int, f function) function {
	return func(x *big.Float) *big.Float {
		above := f(zero().Set(x)).MantExp(nil)
		w := longPower(zero().Set(x), k)
		return w.SetMantExp(w, -above)
	}
}

// times returns the function c·f.
func times(c float64, f function) function {
	return func(x *big.Float) *big.Float {
		y := f(x)
		return y.Mul(y, number(c))
	}
}

// timesPi returns the function π^k·f(π²·x) of x.
func timesPi(k int, f function) function {
	return func(x *big.Float) *big.Float {
		pi := exact.Pi(4 * prec)
		y := f(zero().Mul(x, zero().Mul(pi, pi)))
		for range k {
			y.Mul(y, pi)
		}
		for range -k {
			y.Quo(y, pi)
		}
		return y
	}
}

// one is the weight for an absolute error.
func one(*big.Float) *big.Float { return number(1) }

const quarterPi = math.Pi / 4 * 1.0001

const halfLn2 = math.Ln2 / 2 * 1.0001

var third = 1.0 / 3

// logRatio returns the logarithm of (1+s)/(1-s).
func logRatio(s *big.Float) *big.Float {
	x := exact.Atanh(s)
	return x.Add(x, x)
}

var fits32 = []fit{
	{name: "expm1C", doc: "e^r = 1 + r + r²·P(r).", lo: -halfLn2, hi: halfLn2, degree: 4, bits: 24,
		target: after(exact.Exp, 2, 1, 1), weight: per(2, exact.Expm1)},
	{name: "logC", doc: "log(1+f) = f + f²·P(f).", lo: -third, hi: third, degree: 8, bits: 24,
		target: after(exact.Log1p, 2, 0, 1), weight: per(2, exact.Log1p)},
	{name: "log2C", doc: "log2(1+f) = f/ln 2 + f²·P(f).", lo: -third, hi: third, degree: 8, bits: 24,
		target: times(1/math.Ln2, after(exact.Log1p, 2, 0, 1)), weight: times(math.Ln2, per(2, exact.Log1p))},
	{name: "log10C", doc: "log10(1+f) = f/ln 10 + f²·P(f).", lo: -third, hi: third, degree: 8, bits: 24,
		target: times(1/math.Ln10, after(exact.Log1p, 2, 0, 1)), weight: times(math.Ln10, per(2, exact.Log1p))},
	{name: "sinC", doc: "sin(r) = r + r³·P(r²).", lo: 0, hi: quarterPi * quarterPi, degree: 2, bits: 24,
		target: ofSquare(after(exact.Sin, 3, 0, 1)), weight: ofSquare(per(3, exact.Sin))},
	{name: "cosC", doc: "cos(r) = 1 + r²·P(r²).", lo: 0, hi: quarterPi * quarterPi, degree: 3, bits: 24,
		target: ofSquare(after(exact.Cos, 2, 1)), weight: ofSquare(per(2, exact.Cos))},
	{name: "sinpiC", doc: "sin(πy) = π·y + y³·P(y²).", lo: 0, hi: 0.06251, degree: 2, bits: 24,
		target: timesPi(3, ofSquare(after(exact.Sin, 3, 0, 1))), weight: timesPi(-3, ofSquare(per(3, exact.Sin)))},
	{name: "cospiC", doc: "cos(πy) = 1 + y²·P(y²).", lo: 0, hi: 0.06251, degree: 3, bits: 24,
		target: timesPi(2, ofSquare(after(exact.Cos, 2, 1))), weight: timesPi(-2, ofSquare(per(2, exact.Cos)))},
	{name: "tanhC", doc: "tanh(x) = x + x³·P(x²) for x below 0.98. Errors are relative to the power of 2 above tanh(x).", lo: 0, hi: 0.9605, degree: 5, bits: 24,
		target: ofSquare(after(exact.Tanh, 3, 0, 1)), weight: ofSquare(perPower2(3, exact.Tanh))},
	{name: "sinhC", doc: "sinh(x) = x + x³·P(x²) for x below 1.", lo: 0, hi: 1, degree: 2, bits: 24,
		target: ofSquare(after(exact.Sinh, 3, 0, 1)), weight: ofSquare(per(3, exact.Sinh))},
	{name: "asinC", doc: "asin(x) = x + x³·P(x²).", lo: 0, hi: 0.3137, degree: 4, bits: 24,
		target: ofSquare(after(exact.Asin, 3, 0, 1)), weight: ofSquare(per(3, exact.Asin))},
	{name: "atanC", doc: "atan(t) = t + t³·P(t²).", lo: 0, hi: 1, degree: 7, bits: 24,
		target: ofSquare(after(exact.Atan, 3, 0, 1)), weight: ofSquare(per(3, exact.Atan))},
	{name: "erfC", doc: "erf(x) = x + x·P(x²) for x below 0.92.", lo: 0, hi: 0.8465, degree: 5, bits: 24,
		target: ofSquare(after(exact.Erf, 1, 0, 1)), weight: ofSquare(per(1, exact.Erf))},
	{name: "erfTailC", doc: "erf(x) = 1 - 2^P(x) for x between 0.92 and 4.", lo: 0.92, hi: 4, degree: 6, bits: 24,
		target: log2Erfc, weight: func(x *big.Float) *big.Float {
			w := zero().Quo(exact.Erfc(x), exact.Erf(x))
			return w.Mul(w, exact.Ln2(prec))
		}},
	{name: "erfcC", doc: "e^(x²)·erfc(x)·(1+2x) = P(t) with t = (x-2)/(x+2), for x between 0.5 and 10.1.",
		lo: -0.6001, hi: 0.67, degree: 9, bits: 24, target: scaledErfcAt(2), weight: per(0, scaledErfcAt(2))},
	{name: "powLogC", doc: "log2((1+s)/(1-s)) = s·P(s²).", lo: 0, hi: 0.02946, degree: 4, bits: 24, pairs: 2,
		target: ofSquare(atanhTwice), weight: ofSquare(per(1, func(s *big.Float) *big.Float {
			x := atanhTwice(s)
			return x.Mul(x, s)
		}))},
	{name: "powExpC", doc: "2^r = 1 + r·P(r).", lo: -0.50001, hi: 0.50001, degree: 5, bits: 24,
		target: after(exact.Exp2, 1, 1), weight: per(1, exact.Exp2)},
}

var fits64 = []fit{
	{name: "expC", doc: "e^r = 1 + r + r²·P(r).", lo: -halfLn2, hi: halfLn2, degree: 9, bits: 53,
		target: after(exact.Exp, 2, 1, 1), weight: per(2, exact.Exp)},
	{name: "expm1C", doc: "e^r = 1 + r + r²/2 + r³·P(r).", lo: -halfLn2, hi: halfLn2, degree: 9, bits: 53,
		target: after(exact.Exp, 3, 1, 1, 0.5), weight: per(3, exact.Expm1)},
	{name: "exp2C", doc: "2^r = 1 + r·P(r).", lo: -0.50001, hi: 0.50001, degree: 10, bits: 53, pairs: 1,
		target: after(exact.Exp2, 1, 1), weight: per(1, exact.Exp2)},
	{name: "ratioC", doc: "log((1+s)/(1-s)) = 2s + s³·P(s²).", lo: 0, hi: 0.02946, degree: 6, bits: 53,
		target: ofSquare(after(logRatio, 3, 0, 2)), weight: ofSquare(per(3, logRatio))},
	{name: "logC", doc: "atanh(s) = s + s³/3 + s⁵·P(s²).", lo: 0, hi: 0.02946, degree: 8, bits: 53,
		target: ofSquare(atanhTail), weight: ofSquare(per(5, exact.Atanh))},
	{name: "sinC", doc: "sin(r) = r + r³·P(r²).", lo: 0, hi: quarterPi * quarterPi, degree: 6, bits: 53,
		target: ofSquare(after(exact.Sin, 3, 0, 1)), weight: ofSquare(per(3, exact.Sin))},
	{name: "cosC", doc: "cos(r) = 1 - r²/2 + r⁴·P(r²).", lo: 0, hi: quarterPi * quarterPi, degree: 6, bits: 53,
		target: ofSquare(after(exact.Cos, 4, 1, 0, -0.5)), weight: ofSquare(per(4, exact.Cos))},
	{name: "asinC", doc: "asin(x) = x + x³·P(x²).", lo: 0, hi: 0.25, degree: 12, bits: 53,
		target: ofSquare(after(exact.Asin, 3, 0, 1)), weight: ofSquare(per(3, exact.Asin))},
	{name: "atanC", doc: "atan(t) = t + t³·P(t²).", lo: 0, hi: 0.1717, degree: 11, bits: 53,
		target: ofSquare(after(exact.Atan, 3, 0, 1)), weight: ofSquare(per(3, exact.Atan))},
	{name: "erfC", doc: "erf(x) = x·P(x²) for x below 0.75.", lo: 0, hi: 0.5626, degree: 11, bits: 53, pairs: 2,
		target: ofSquare(after(exact.Erf, 1)), weight: ofSquare(per(1, exact.Erf))},
	{name: "erfcC", doc: "e^(x²)·erfc(x)·(1+2x) = P(t) with t = (x-4)/(x+4), for x between 0.75 and 27.3.",
		lo: -0.6843, hi: 0.745, degree: 22, bits: 53, pairs: 2, target: scaledErfcAt(4), weight: per(0, scaledErfcAt(4))},
}

// scaledErfcAt returns e^(x²)·erfc(x)·(1+2x) as a function of t = (x-k)/(x+k).
func scaledErfcAt(k float64) function {
	return func(t *big.Float) *big.Float {
		x := zero().Quo(zero().Add(t, number(1)), zero().Sub(number(1), t))
		x.Mul(x, number(k))
		p := exact.Erfcx(x)
		return p.Mul(p, zero().Add(zero().Add(x, x), number(1)))
	}
}

// log2Erfc returns the binary logarithm of 1 minus the error function.
func log2Erfc(x *big.Float) *big.Float { return exact.Log2(exact.Erfc(x)) }

// atanhTwice returns 2·atanh(s)/(s·ln 2).
func atanhTwice(s *big.Float) *big.Float {
	p := zero().Quo(exact.Atanh(zero().Set(s)), zero().Mul(s, exact.Ln2(prec)))
	return p.Add(p, p)
}

// atanhTail returns (atanh(s) - s - s³/3)/s⁵.
func atanhTail(s *big.Float) *big.Float {
	wp := uint(4 * prec)
	x := new(big.Float).SetPrec(wp).Set(s)
	cube := new(big.Float).SetPrec(wp).Quo(longPower(x, 3), new(big.Float).SetPrec(wp).SetInt64(3))
	d := exact.Atanh(x)
	d.Sub(d, x)
	d.Sub(d, cube)
	return zero().Set(d.Quo(d, longPower(x, 5)))
}
