package math

import "math"

// Pow returns x to the power of y.
func Pow(x, y float64) float64 {
	ax := math.Abs(x)
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return math.NaN()
	case ax == 0 || ax > math.MaxFloat64 || math.Abs(y) > math.MaxFloat64:
		return powSpecial(x, y)
	}
	var sign uint64
	if x < 0 {
		switch {
		case y != math.Trunc(y):
			return math.NaN()
		case isOdd(y):
			sign = signBit
		}
	}
	m, k := splitLog(ax)
	h, l := logPair(m, 0, k)
	p, pl := twoProd(h, y)
	if math.Abs(p) > 1000 { // the result overflows or underflows, and pl may be a NaN
		pl = 0
	} else {
		pl = math.FMA(l, y, pl)
	}
	return math.Float64frombits(math.Float64bits(expOfPair(p, pl)) | sign)
}

// isOdd reports whether y, an integer value, is odd.
func isOdd(y float64) bool { return math.Abs(y) < 0x1p53 && int64(y)&1 != 0 }

// powSpecial returns x to the power of y if x is zero or infinite, or y is infinite.
func powSpecial(x, y float64) float64 {
	ax := math.Abs(x)
	if math.Abs(y) > math.MaxFloat64 {
		switch {
		case ax == 1:
			return 1
		case (ax < 1) == (y > 0):
			return 0
		}
		return math.Inf(1)
	}
	r := math.Inf(1)
	if (ax == 0) == (y > 0) {
		r = 0
	}
	if y == math.Trunc(y) && isOdd(y) {
		return withSign(r, x)
	}
	return r
}
