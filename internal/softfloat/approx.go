package softfloat

import "math"

// DivApprox is div.approx.f32. For finite divisors above 2^126 in magnitude, it returns a signed
// zero if the dividend is finite, and otherwise a NaN.
func DivApprox(a, b float32, _ Mode) float32 {
	if x := math.Abs(float64(b)); x > 0x1p126 && !math.IsInf(x, 0) {
		switch {
		case a != a || math.IsInf(float64(a), 0):
			return math.Float32frombits(0x7fffffff)
		case math.Signbit(float64(a)) != math.Signbit(float64(b)):
			return float32(math.Copysign(0, -1))
		}
		return 0
	}
	return Canonical(a / b)
}

// Function returns the exact function that the named instruction approximates.
func Function(name string) func(float64) float64 {
	switch name {
	case "rcp":
		return func(x float64) float64 { return 1 / x }
	case "sqrt":
		return math.Sqrt
	case "rsqrt":
		return func(x float64) float64 { return 1 / math.Sqrt(x) }
	case "sin":
		return math.Sin
	case "cos":
		return math.Cos
	case "lg2":
		return math.Log2
	case "ex2":
		return math.Exp2
	case "tanh":
		return math.Tanh
	}
	return nil
}
