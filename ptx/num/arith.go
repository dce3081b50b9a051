package num

import "math"

// All operations except FMA compute in float32. The second rounding, to 16 bits, does not change the
// result. The reason is that float32 has 24 bits, which is at least twice the precision of F16 or
// BF16 plus two (Figueroa, 1995). BF16 has the same exponents as float32, so a product or quotient
// near zero loses bits in float32 as well. In that case, the float32 still has 16 bits below the
// last bit of the BF16. Only a result that is even closer to the midpoint between two BF16 numbers
// could be rounded differently. A product of two 8-bit integers, and a quotient of such numbers, is
// never that close. TestEveryPair compares all pairs with the exact results.

// Add returns h+x.
func (h F16) Add(x F16) F16 { return ToF16(h.Float32() + x.Float32()) }

// Sub returns h-x.
func (h F16) Sub(x F16) F16 { return ToF16(h.Float32() - x.Float32()) }

// Mul returns h*x.
func (h F16) Mul(x F16) F16 { return ToF16(h.Float32() * x.Float32()) }

// Div returns h/x.
func (h F16) Div(x F16) F16 { return ToF16(h.Float32() / x.Float32()) }

// FMA returns h*x+y, rounded once.
func (h F16) FMA(x, y F16) F16 {
	// The product is exact. The sum is exact in float64, unless it overflows or one operand is so
	// small that it cannot change the result.
	return F16FromFloat64(float64(h.Float64()*x.Float64()) + y.Float64())
}

// Sqrt returns the square root of h.
func (h F16) Sqrt() F16 { return ToF16(float32(math.Sqrt(h.Float64()))) }

// Neg returns -h.
func (h F16) Neg() F16 {
	if h.IsNaN() {
		return F16{nan16}
	}
	return F16{h.bits ^ 0x8000}
}

// Abs returns the magnitude of h.
func (h F16) Abs() F16 {
	if h.IsNaN() {
		return F16{nan16}
	}
	return F16{h.bits &^ 0x8000}
}

// Min returns the smaller number, or the other operand if one is a NaN.
func (h F16) Min(x F16) F16 {
	switch {
	case x.IsNaN():
		h, x = x, h
		fallthrough
	case h.IsNaN():
		if x.IsNaN() {
			return F16{nan16}
		}
		return x
	case order(x.bits) < order(h.bits):
		return x
	}
	return h
}

// Max returns the larger number, or the other operand if one is a NaN.
func (h F16) Max(x F16) F16 {
	switch {
	case x.IsNaN():
		h, x = x, h
		fallthrough
	case h.IsNaN():
		if x.IsNaN() {
			return F16{nan16}
		}
		return x
	case order(x.bits) > order(h.bits):
		return x
	}
	return h
}

// Less reports whether h < x.
func (h F16) Less(x F16) bool { return h.Float32() < x.Float32() }

// LessEqual reports whether h <= x.
func (h F16) LessEqual(x F16) bool { return h.Float32() <= x.Float32() }

// Equal reports whether h and x are equal numbers.
func (h F16) Equal(x F16) bool { return h.Float32() == x.Float32() }

// IsNaN reports whether h is not a number.
func (h F16) IsNaN() bool { return h.bits&0x7fff > 0x7c00 }

// IsInf reports whether h is an infinity: positive if sign > 0, negative if sign < 0, either if
// sign is 0.
func (h F16) IsInf(sign int) bool {
	return sign >= 0 && h.bits == 0x7c00 || sign <= 0 && h.bits == 0xfc00
}

// Signbit reports whether h is negative or negative zero.
func (h F16) Signbit() bool { return h.bits&0x8000 != 0 }

// Add returns h+x.
func (h BF16) Add(x BF16) BF16 { return ToBF16(h.Float32() + x.Float32()) }

// Sub returns h-x.
func (h BF16) Sub(x BF16) BF16 { return ToBF16(h.Float32() - x.Float32()) }

// Mul returns h*x.
func (h BF16) Mul(x BF16) BF16 { return ToBF16(h.Float32() * x.Float32()) }

// Div returns h/x.
func (h BF16) Div(x BF16) BF16 { return ToBF16(h.Float32() / x.Float32()) }

// FMA returns h*x+y, rounded once.
func (h BF16) FMA(x, y BF16) BF16 {
	// The sum may need more bits than float64 has, and it may be near the midpoint between two BF16
	// numbers.
	return BF16FromFloat64(addOdd(float64(h.Float64()*x.Float64()), y.Float64()))
}

// Sqrt returns the square root of h.
func (h BF16) Sqrt() BF16 { return ToBF16(float32(math.Sqrt(h.Float64()))) }

// Neg returns -h.
func (h BF16) Neg() BF16 {
	if h.IsNaN() {
		return BF16{nan16}
	}
	return BF16{h.bits ^ 0x8000}
}

// Abs returns the magnitude of h.
func (h BF16) Abs() BF16 {
	if h.IsNaN() {
		return BF16{nan16}
	}
	return BF16{h.bits &^ 0x8000}
}

// Min returns the smaller number, or the other operand if one is a NaN.
func (h BF16) Min(x BF16) BF16 {
	switch {
	case x.IsNaN():
		h, x = x, h
		fallthrough
	case h.IsNaN():
		if x.IsNaN() {
			return BF16{nan16}
		}
		return x
	case order(x.bits) < order(h.bits):
		return x
	}
	return h
}

// Max returns the larger number, or the other operand if one is a NaN.
func (h BF16) Max(x BF16) BF16 {
	switch {
	case x.IsNaN():
		h, x = x, h
		fallthrough
	case h.IsNaN():
		if x.IsNaN() {
			return BF16{nan16}
		}
		return x
	case order(x.bits) > order(h.bits):
		return x
	}
	return h
}

// Less reports whether h < x.
func (h BF16) Less(x BF16) bool { return h.Float32() < x.Float32() }

// LessEqual reports whether h <= x.
func (h BF16) LessEqual(x BF16) bool { return h.Float32() <= x.Float32() }

// Equal reports whether h and x are equal numbers.
func (h BF16) Equal(x BF16) bool { return h.Float32() == x.Float32() }

// IsNaN reports whether h is not a number.
func (h BF16) IsNaN() bool { return h.bits&0x7fff > 0x7f80 }

// IsInf reports whether h is an infinity: positive if sign > 0, negative if sign < 0, either if
// sign is 0.
func (h BF16) IsInf(sign int) bool {
	return sign >= 0 && h.bits == 0x7f80 || sign <= 0 && h.bits == 0xff80
}

// Signbit reports whether h is negative or negative zero.
func (h BF16) Signbit() bool { return h.bits&0x8000 != 0 }

// order returns an integer that increases with the number that the bits represent. It orders -0
// before +0.
func order(bits uint16) int32 {
	if bits&0x8000 != 0 {
		return -1 - int32(bits&0x7fff)
	}
	return int32(bits)
}

// Less reports whether h < x.
func (h E4M3) Less(x E4M3) bool { return h.Float32() < x.Float32() }

// LessEqual reports whether h <= x.
func (h E4M3) LessEqual(x E4M3) bool { return h.Float32() <= x.Float32() }

// Equal reports whether h and x are equal numbers.
func (h E4M3) Equal(x E4M3) bool { return h.Float32() == x.Float32() }

// IsNaN reports whether h is not a number.
func (h E4M3) IsNaN() bool { return h.bits&0x7f == 0x7f }

// Signbit reports whether h is negative or negative zero.
func (h E4M3) Signbit() bool { return h.bits&0x80 != 0 }

// Less reports whether h < x.
func (h E5M2) Less(x E5M2) bool { return h.Float32() < x.Float32() }

// LessEqual reports whether h <= x.
func (h E5M2) LessEqual(x E5M2) bool { return h.Float32() <= x.Float32() }

// Equal reports whether h and x are equal numbers.
func (h E5M2) Equal(x E5M2) bool { return h.Float32() == x.Float32() }

// IsNaN reports whether h is not a number.
func (h E5M2) IsNaN() bool { return h.bits&0x7f > 0x7c }

// IsInf reports whether h is an infinity: positive if sign > 0, negative if sign < 0, either if
// sign is 0.
func (h E5M2) IsInf(sign int) bool {
	return sign >= 0 && h.bits == 0x7c || sign <= 0 && h.bits == 0xfc
}

// Signbit reports whether h is negative or negative zero.
func (h E5M2) Signbit() bool { return h.bits&0x80 != 0 }
