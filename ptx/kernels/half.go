package kernels

import "github.com/purecuda/cuda/ptx/kernels/launchers"

// F16 is a 16-bit float of IEEE 754: 5 bits of exponent, 11 of precision. Its
// value is its bits, as memory of the device has them.
type F16 = launchers.F16

// BF16 is a 16-bit float that is the upper half of a float32: 8 bits of
// exponent, 8 of precision.
type BF16 = launchers.BF16

// ToF16 rounds to the nearest F16, ties to even. What is too large becomes an
// infinity.
func ToF16(f float32) F16 { return launchers.ToF16(f) }

// ToBF16 rounds to the nearest BF16, ties to even.
func ToBF16(f float32) BF16 { return launchers.ToBF16(f) }
