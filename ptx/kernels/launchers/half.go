package launchers

import "math"

// F16 is a 16-bit float of IEEE 754: 5 bits of exponent, 11 of precision. Its
// value is its bits, as memory of the device has them.
type F16 uint16

// BF16 is a 16-bit float that is the upper half of a float32: 8 bits of
// exponent, 8 of precision.
type BF16 uint16

// ToF16 rounds to the nearest F16, ties to even. What is too large becomes an
// infinity.
func ToF16(f float32) F16 {
	b := math.Float32bits(f)
	sign := F16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7fff
	case b >= 0x477ff000: // 65520, from where on the nearest is none
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14 all have the same spacing, 2^-24
		// Adding 0.5 has the hardware round there.
		return sign | F16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | F16((b-0x38000000)>>13)
}

// ToBF16 rounds to the nearest BF16, ties to even.
func ToBF16(f float32) BF16 {
	if f != f {
		return 0x7fff
	}
	b := math.Float32bits(f)
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 is the value, which every F16 has as a float32.
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

// Float32 is the value.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }
