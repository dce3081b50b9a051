// Package num provides the floating-point types that kernels use and Go lacks. F16 is __half
// in CUDA C++ and .f16 in PTX. BF16 is __nv_bfloat16 and .bf16. E4M3 and E5M2 are the 8-bit
// formats __nv_fp8_e4m3 and __nv_fp8_e5m2. Values of these types have the same layout in Go
// and on the device.
//
//	x, err := driver.AllocFrom(ctx, num.ToF16s([]float32{1, 2, 3}))
//
// The types are structs, so Go's arithmetic operators do not compile. Use the methods, or the
// generic functions, which also accept float32 and float64:
//
//	func axpy[T num.Float](a T, x, y []T) {
//		for i := range y {
//			y[i] = num.FMA(a, x[i], y[i])
//		}
//	}
//
// # Results
//
// Every operation returns the exact result rounded once, to nearest with ties to even, and
// keeps subnormal numbers. If the result of an operation on F16 or BF16 is a NaN, its bits are
// 0x7fff, as on a GPU. Min and Max ignore a NaN operand if the other operand is a number, and
// order -0 before +0. PTX instructions without modifiers return the same results. PTX cannot
// divide 16-bit numbers or take their square roots, and has no arithmetic on 8-bit numbers.
//
// The operator == compares bits: a NaN equals itself, and -0 differs from +0. Equal, Less and
// LessEqual compare numbers, and are false if an operand is a NaN.
//
// # Conversions
//
// Float32 and Float64 are exact. Conversions to a type with fewer bits round once, to nearest
// with ties to even. Numbers that are too large become infinite in F16 and BF16. In E4M3 and
// E5M2, such numbers and infinities become the largest number of the same sign. To converts between any
// two types of numbers.
package num

import "math"

// F16 is an IEEE 754 binary16 number: a 5-bit exponent and 11 bits of precision.
type F16 struct{ bits uint16 }

// BF16 is the upper half of a float32: an 8-bit exponent and 8 bits of precision.
type BF16 struct{ bits uint16 }

// E4M3 is an 8-bit number with a 4-bit exponent and 4 bits of precision. It has no infinities.
type E4M3 struct{ bits uint8 }

// E5M2 is the upper half of an F16: a 5-bit exponent and 3 bits of precision.
type E5M2 struct{ bits uint8 }

// Limits of the types.
const (
	MaxF16              = 65504
	SmallestNormalF16   = 0x1p-14
	SmallestNonzeroF16  = 0x1p-24
	MaxBF16             = 0x1.fep127
	SmallestNormalBF16  = 0x1p-126
	SmallestNonzeroBF16 = 0x1p-133
	MaxE4M3             = 448
	SmallestNormalE4M3  = 0x1p-6
	SmallestNonzeroE4M3 = 0x1p-9
	MaxE5M2             = 57344
	SmallestNormalE5M2  = 0x1p-14
	SmallestNonzeroE5M2 = 0x1p-16
)

// nan16 is the NaN that arithmetic on 16-bit types returns.
const nan16 = 0x7fff

// F16FromBits returns the number that has the bits b.
func F16FromBits(b uint16) F16 { return F16{b} }

// BF16FromBits returns the number that has the bits b.
func BF16FromBits(b uint16) BF16 { return BF16{b} }

// E4M3FromBits returns the number that has the bits b.
func E4M3FromBits(b uint8) E4M3 { return E4M3{b} }

// E5M2FromBits returns the number that has the bits b.
func E5M2FromBits(b uint8) E5M2 { return E5M2{b} }

// Bits returns the number's bits.
func (h F16) Bits() uint16 { return h.bits }

// Bits returns the number's bits.
func (h BF16) Bits() uint16 { return h.bits }

// Bits returns the number's bits.
func (h E4M3) Bits() uint8 { return h.bits }

// Bits returns the number's bits.
func (h E5M2) Bits() uint8 { return h.bits }

// ToF16 rounds f to the nearest F16, with ties to even. Numbers with a magnitude of at least 65520
// become infinity. A NaN becomes the NaN 0x7fff.
func ToF16(f float32) F16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return F16{nan16}
	case b >= 0x477ff000: // 65520
		return F16{sign | 0x7c00}
	case b < 0x38800000: // below 2^-14 the spacing is always 2^-24
		// Below 2^-14, adding 0.5 makes the hardware round to that spacing.
		return F16{sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)}
	}
	b += 0xfff + b>>13&1
	return F16{sign | uint16((b-0x38000000)>>13)}
}

// ToBF16 rounds f to the nearest BF16, with ties to even. A NaN becomes the NaN 0x7fff.
func ToBF16(f float32) BF16 {
	if f != f {
		return BF16{nan16}
	}
	b := math.Float32bits(f)
	return BF16{uint16((b + 0x7fff + b>>16&1) >> 16)}
}

// ToE4M3 rounds f to the nearest E4M3, with ties to even. Magnitudes larger than 448, including
// infinity, become 448 with the same sign. A NaN becomes the NaN 0x7f.
func ToE4M3(f float32) E4M3 {
	b := math.Float32bits(f)
	sign := uint8(b >> 24 & 0x80)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return E4M3{0x7f}
	case b >= 0x43e00000: // 448
		return E4M3{sign | 0x7e}
	case b < 0x3c800000: // below 2^-6 the spacing is always 2^-9
		// Float32 numbers from 2^14 to 2^15 have that spacing.
		return E4M3{sign | uint8(math.Float32bits(math.Float32frombits(b)+0x1p14)-0x46800000)}
	}
	b += 1<<19 - 1 + b>>20&1
	return E4M3{sign | uint8((b-0x3c000000)>>20)}
}

// ToE5M2 rounds f to the nearest E5M2, with ties to even. Magnitudes larger than 57344, including
// infinity, become 57344 with the same sign. A NaN becomes the NaN 0x7f.
func ToE5M2(f float32) E5M2 {
	b := math.Float32bits(f)
	sign := uint8(b >> 24 & 0x80)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return E5M2{0x7f}
	case b >= 0x47600000: // 57344
		return E5M2{sign | 0x7b}
	case b < 0x38800000: // below 2^-14 the spacing is always 2^-16
		// Float32 numbers from 2^7 to 2^8 have that spacing.
		return E5M2{sign | uint8(math.Float32bits(math.Float32frombits(b)+0x1p7)-0x43000000)}
	}
	b += 1<<20 - 1 + b>>21&1
	return E5M2{sign | uint8((b-0x38000000)>>21)}
}

// F16FromFloat64 rounds f once to the nearest F16, as ToF16 does. In contrast, ToF16(float32(f))
// rounds twice.
func F16FromFloat64(f float64) F16 { return ToF16(oddFloat32(f)) }

// BF16FromFloat64 rounds f once to the nearest BF16, as ToBF16 does.
func BF16FromFloat64(f float64) BF16 { return ToBF16(oddFloat32(f)) }

// E4M3FromFloat64 rounds f once to the nearest E4M3, as ToE4M3 does.
func E4M3FromFloat64(f float64) E4M3 { return ToE4M3(oddFloat32(f)) }

// E5M2FromFloat64 rounds f once to the nearest E5M2, as ToE5M2 does.
func E5M2FromFloat64(f float64) E5M2 { return ToE5M2(oddFloat32(f)) }

// Float32 returns the value. A NaN keeps its sign.
func (h F16) Float32() float32 {
	b := uint32(h.bits)
	sign := b & 0x8000 << 16
	// Moving the fields lowers the exponent by 112. The product is exact, even for subnormal
	// numbers, and infinities and NaNs get the exponent of 65536.
	f := math.Float32bits(math.Float32frombits(b&0x7fff<<13) * 0x1p112)
	if f > 0x47800000 {
		f = 0x7fffffff
	} else if f == 0x47800000 {
		f = 0x7f800000
	}
	return math.Float32frombits(sign | f)
}

// Float32 returns the value.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h.bits) << 16) }

// Float32 returns the value.
func (h E4M3) Float32() float32 {
	b := uint32(h.bits)
	if b&0x7f == 0x7f {
		return math.Float32frombits(b<<24 | 0x7fffffff)
	}
	return math.Float32frombits(b&0x80<<24 | math.Float32bits(math.Float32frombits(b&0x7f<<20)*0x1p120))
}

// Float32 returns the value.
func (h E5M2) Float32() float32 { return F16{uint16(h.bits) << 8}.Float32() }

// Float64 returns the value.
func (h F16) Float64() float64 { return float64(h.Float32()) }

// Float64 returns the value.
func (h BF16) Float64() float64 { return float64(h.Float32()) }

// Float64 returns the value.
func (h E4M3) Float64() float64 { return float64(h.Float32()) }

// Float64 returns the value.
func (h E5M2) Float64() float64 { return float64(h.Float32()) }

// ToF16s rounds each number as ToF16 does.
//
//gpu:host
func ToF16s(f []float32) []F16 { return convert(f, ToF16) }

// ToBF16s rounds each number as ToBF16 does.
//
//gpu:host
func ToBF16s(f []float32) []BF16 { return convert(f, ToBF16) }

// ToE4M3s rounds each number as ToE4M3 does.
//
//gpu:host
func ToE4M3s(f []float32) []E4M3 { return convert(f, ToE4M3) }

// ToE5M2s rounds each number as ToE5M2 does.
//
//gpu:host
func ToE5M2s(f []float32) []E5M2 { return convert(f, ToE5M2) }

// Float32s returns the values of a slice of any type of this package.
//
//gpu:host
func Float32s[T interface{ Float32() float32 }](h []T) []float32 { return convert(h, T.Float32) }

func convert[From, To any](from []From, one func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = one(f)
	}
	return to
}
