// Package num provides the 16-bit floating-point types that kernels use and Go lacks. F16
// is __half in CUDA C++ and .f16 in PTX. BF16 is __nv_bfloat16 and .bf16. Values of both
// types have the same layout in Go and on the device.
//
//	x, err := driver.AllocFrom(ctx, num.ToF16s([]float32{1, 2, 3}))
//
// A Go value holds the bits of the number, so Go's arithmetic operators do not work on
// the number. Convert it to float32, which represents every value of both types, and
// back.
package num

import "math"

// F16 is an IEEE 754 binary16 number: a 5-bit exponent and 11 bits of precision.
type F16 uint16

// BF16 is the upper half of a float32: an 8-bit exponent and 8 bits of precision.
type BF16 uint16

// F16FromBits returns the number with these bits.
func F16FromBits(b uint16) F16 { return F16(b) }

// BF16FromBits returns the number with these bits.
func BF16FromBits(b uint16) BF16 { return BF16(b) }

// Bits returns the number's bits.
func (h F16) Bits() uint16 { return uint16(h) }

// Bits returns the number's bits.
func (h BF16) Bits() uint16 { return uint16(h) }

// ToF16 rounds to the nearest F16, ties to even. Numbers with a magnitude of at least 65520 become
// infinity.
func ToF16(f float32) F16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return F16(sign | 0x7fff)
	case b >= 0x477ff000: // 65520
		return F16(sign | 0x7c00)
	case b < 0x38800000: // below 2^-14 the spacing is always 2^-24
		// Below 2^-14, adding 0.5 makes the hardware round to that spacing.
		return F16(sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000))
	}
	b += 0xfff + b>>13&1
	return F16(sign | uint16((b-0x38000000)>>13))
}

// ToBF16 rounds to the nearest BF16, ties to even.
func ToBF16(f float32) BF16 {
	if f != f {
		return 0x7fff
	}
	b := math.Float32bits(f)
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the value.
func (h F16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	e, m := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch e {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(m)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | m<<13)
	}
	return math.Float32frombits(sign | (e+112)<<23 | m<<13)
}

// Float32 returns the value.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// String formats the value as strconv formats a float32.
func (h F16) String() string { return text(h.Float32()) }

// String formats the value as strconv formats a float32.
func (h BF16) String() string { return text(h.Float32()) }

// ToF16s rounds each number as ToF16 does.
func ToF16s(f []float32) []F16 { return convert(f, ToF16) }

// ToBF16s rounds each number as ToBF16 does.
func ToBF16s(f []float32) []BF16 { return convert(f, ToBF16) }

// Float32s returns the values of a slice of either type.
func Float32s[T interface{ Float32() float32 }](h []T) []float32 { return convert(h, T.Float32) }
