package math32

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float32) float32 {
	a := abs(x)
	if a < 0.8 {
		s := float32(x * x)
		p := fma(tanhC5, s, tanhC4)
		p = fma(p, s, tanhC3)
		p = fma(p, s, tanhC2)
		p = fma(p, s, tanhC1)
		p = fma(p, s, tanhC0)
		// Adding 0 keeps the sign of a zero x: p is negative.
		return fma(p, fma(s, x, 0), x)
	}
	// tanh a = 1 - 2/(e^2a + 1).
	e := ex2(float32(a * (2 * log2e)))
	return withSign(fma(-2, rcp(e+1), 1), x)
}
