package math32

import "math"

// tan(r) = r + r³·P(r²). These are minimax coefficients, adjusted by a few units in the last place to
// reduce Tan's total rounding error.
const (
	tanC0 = 0x1.5554ep-02
	tanC1 = 0x1.112de8p-03
	tanC2 = 0x1.b58596p-05
	tanC3 = 0x1.907206p-06
	tanC4 = 0x1.968792p-09
	tanC5 = 0x1.33df1ep-07
)

// Tan returns the tangent of x radians.
func Tan(x float32) float32 {
	// Below the limit, |n| has 10 bits and its product with middle is exact.
	const limit, middle, low = 1600, 0x1.444p-24, 0x1.68c234p-39
	t := fma(x, twoOverPi, magic)
	n := t - magic
	a := fma(-n, halfPi, x)
	r := fma(-n, middle, a)
	// The difference is exact. If a is small, the difference is n·middle. Otherwise, r is between
	// a/2 and 2a.
	above := fma(n, middle, r-a)
	// x - n·π/2 = r - above.
	v := tanQuadrant(r, fma(n, low, above), math.Float32bits(t))
	if abs(x) > limit {
		r, rl, q := reduceLarge(x)
		v = tanQuadrant(r, -rl, q)
	}
	return v
}

// tanQuadrant returns the tangent of r - above + q·π/2.
func tanQuadrant(r, above float32, q uint32) float32 {
	s := float32(r * r)
	p := fma(tanC5, s, tanC4)
	p = fma(p, s, tanC3)
	p = fma(p, s, tanC2)
	p = fma(p, s, tanC1)
	p = fma(p, s, tanC0)
	// tan(r-above) = r + (r³·p - above·(1 + r²) + …), where above·r² is at most a third of an ulp.
	// If r is zero, so is above, and the sum has the same sign as r.
	c := fma(float32(p*s), r, -above)
	t := r + c
	// -1/t, with one iteration of Newton's method. Computing both results costs less than a branch.
	y := rcpNormal(t)
	cot := fma(fma(t, y, -1), y, -y)
	if q&1 != 0 {
		t = cot
	}
	return t
}
