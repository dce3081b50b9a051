package vm

import "math"

// The sign of the rounding error of the nearest double, computed with the host's doubles. Where no
// step underflows or overflows, the error of an operation is a double, or has the sign of one. All
// other cases use the general method.

// The magnitudes between which the errors of products, quotients and roots are
// doubles themselves.
const (
	leastQuick = 0x1p-900
	mostQuick  = 0x1p1000
)

// quickRange reports whether the magnitude of x is in that range.
func quickRange(x float64) bool {
	x = math.Abs(x)
	return x >= leastQuick && x <= mostQuick
}

// sign returns -1, 0 or 1.
func sign(x float64) int { return int(b2u(x > 0)) - int(b2u(x < 0)) }

// twoSum returns a+b and its rounding error (Knuth).
func twoSum(a, b float64) (s, e float64) {
	s = a + b
	t := s - a
	return s, float64(a-float64(s-t)) + float64(b-t)
}

// restOfSum returns the sign of the exact a+b minus y, the nearest double. If ok is false, the sign
// is unknown.
func restOfSum(a, b, y float64) (rest int, ok bool) {
	if math.Abs(a) > mostQuick || math.Abs(b) > mostQuick {
		return 0, false
	}
	_, e := twoSum(a, b)
	return sign(e), true
}

// restOfProduct is restOfSum for a*b.
func restOfProduct(a, b, y float64) (rest int, ok bool) {
	return sign(math.FMA(a, b, -y)), quickRange(y)
}

// restOfFMA is restOfSum for a*b+c (Boldo and Muller, 2005).
func restOfFMA(a, b, c, y float64) (rest int, ok bool) {
	p := float64(a * b)
	if !quickRange(p) || !quickRange(c) || !quickRange(y) {
		return 0, false
	}
	a1, a2 := twoSum(c, math.FMA(a, b, -p))
	b1, b2 := twoSum(p, a1)
	return sign(float64(float64(b1-y)+b2) + a2), true
}

// restOfQuotient is restOfSum for a/b.
func restOfQuotient(a, b, y float64) (rest int, ok bool) {
	rest = sign(math.FMA(-y, b, a))
	if b < 0 {
		rest = -rest
	}
	return rest, quickRange(a) && quickRange(b) && quickRange(y)
}

// restOfRoot is restOfSum for the square root of a.
func restOfRoot(a, y float64) (rest int, ok bool) {
	return sign(math.FMA(-y, y, a)), quickRange(a)
}
