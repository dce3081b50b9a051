package num

import "math"

// Rounding to odd truncates a number and sets the last bit if bits were lost. A number that was
// rounded to odd can be rounded again to nearest with at least two fewer bits, and the result is as
// if it had been rounded once (Boldo and Melquiond, 2008).

// oddFloat32 rounds x to odd and returns the result as a float32.
func oddFloat32(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x {
		return f
	}
	b := math.Float32bits(f)
	switch {
	case b&1 != 0:
	case math.Abs(float64(f)) > math.Abs(x):
		b--
	default:
		b++
	}
	return math.Float32frombits(b)
}

// addOdd returns a+b rounded to odd. It requires operands whose sum does not overflow.
func addOdd(a, b float64) float64 {
	s := a + b
	// The rounding error of a sum is a float64 (Knuth's two-sum). It is a NaN if s is infinite.
	t := s - a
	e := float64(a-float64(s-t)) + float64(b-t)
	x := math.Float64bits(s)
	switch {
	case e == 0 || e != e || x&1 != 0:
		return s
	case (e > 0) == (s > 0):
		return math.Float64frombits(x + 1)
	}
	return math.Float64frombits(x - 1)
}

// fmaFloat32 returns a*b+c rounded once.
func fmaFloat32(a, b, c float32) float32 {
	p := float64(a) * float64(b) // this product is exact
	return float32(addOdd(float64(p), float64(c)))
}

// oddInt returns i rounded to odd as a float64, which has 53 bits of precision.
func oddInt(i int64) float64 {
	if i < 0 {
		return -oddUint(-uint64(i))
	}
	return oddUint(uint64(i))
}

func oddUint(i uint64) float64 {
	if i >= 1<<53 {
		lost := i & (1<<11 - 1)
		i &^= 1<<11 - 1
		if lost != 0 {
			i |= 1 << 11
		}
	}
	return float64(i)
}
