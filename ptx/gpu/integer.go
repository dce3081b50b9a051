package gpu

import "math/bits"

// The functions of math/bits compile to single instructions: OnesCount to popc, LeadingZeros and
// Len to clz, Reverse to brev, and RotateLeft to shf. This file provides instructions for which Go
// has no function.

// MulHi returns the upper half of the product a*b (__umulhi).
//
//gpu:intrinsic
func MulHi[T Integer](a, b T) T { return mulHi(a, b) }

// Mul24 returns the lower 32 bits of the product of the lower 24 bits of a and b.
//
//gpu:intrinsic
func Mul24[T ~int32 | ~uint32](a, b T) T { return a << 8 >> 8 * (b << 8 >> 8) }

// AddSat returns a+b, limited to the range of int32.
//
//gpu:intrinsic
func AddSat(a, b int32) int32 { return saturate32(int64(a) + int64(b)) }

// SubSat returns a-b, limited to the range of int32.
//
//gpu:intrinsic
func SubSat(a, b int32) int32 { return saturate32(int64(a) - int64(b)) }

// Sad returns |a-b| + c (__usad).
//
//gpu:intrinsic
func Sad[T ~int32 | ~uint32](a, b T, c uint32) uint32 {
	if a < b {
		a, b = b, a
	}
	return uint32(a) - uint32(b) + c
}

// Dp4a returns c plus the dot product of the four bytes of a and the four bytes of b (__dp4a). The
// bytes are signed if T is.
//
//gpu:intrinsic
func Dp4a[T ~int32 | ~uint32](a, b, c T) T {
	for i := 0; i < 32; i += 8 {
		c += bytesOf(a, i) * bytesOf(b, i)
	}
	return c
}

// Dp2aLow returns c plus the dot product of the two halves of a and the two lower bytes of b.
//
//gpu:intrinsic
func Dp2aLow[T ~int32 | ~uint32](a, b, c T) T { return dp2a(a, b, c, 0) }

// Dp2aHigh returns c plus the dot product of the two halves of a and the two upper bytes of b.
//
//gpu:intrinsic
func Dp2aHigh[T ~int32 | ~uint32](a, b, c T) T { return dp2a(a, b, c, 16) }

// BytePermute returns four of the eight bytes of b:a (__byte_perm, prmt). Each of the four lower
// hexadecimal digits of selector is the index of a byte. If bit 3 of the digit is set, the result
// contains eight copies of the highest bit of that byte instead.
//
//gpu:intrinsic
func BytePermute(a, b, selector uint32) uint32 {
	all := uint64(b)<<32 | uint64(a)
	var r uint32
	for i := range 4 {
		digit := selector >> (4 * i)
		x := uint8(all >> (8 * (digit & 7)))
		if digit&8 != 0 {
			x = uint8(int8(x) >> 7)
		}
		r |= uint32(x) << (8 * i)
	}
	return r
}

// Lop3 applies a function of three bits to the corresponding bits of a, b and c. table defines the
// function: it is the function's result for a = 0xf0, b = 0xcc and c = 0xaa. It must be a constant.
//
//gpu:intrinsic
func Lop3(a, b, c uint32, table uint8) uint32 {
	var r uint32
	for i := range 32 {
		index := a>>i&1<<2 | b>>i&1<<1 | c>>i&1
		r |= uint32(table) >> index & 1 << i
	}
	return r
}

// FunnelShiftLeft returns the upper half of high:low << (shift & 31) (__funnelshift_l).
//
//gpu:intrinsic
func FunnelShiftLeft(low, high, shift uint32) uint32 {
	return uint32((uint64(high)<<32 | uint64(low)) << (shift & 31) >> 32)
}

// FunnelShiftRight returns the lower half of high:low >> (shift & 31) (__funnelshift_r).
//
//gpu:intrinsic
func FunnelShiftRight(low, high, shift uint32) uint32 {
	return uint32((uint64(high)<<32 | uint64(low)) >> (shift & 31))
}

// FunnelShiftLeftClamp returns the upper half of high:low << min(shift, 32).
//
//gpu:intrinsic
func FunnelShiftLeftClamp(low, high, shift uint32) uint32 {
	return uint32((uint64(high)<<32 | uint64(low)) << min(shift, 32) >> 32)
}

// FunnelShiftRightClamp returns the lower half of high:low >> min(shift, 32).
//
//gpu:intrinsic
func FunnelShiftRightClamp(low, high, shift uint32) uint32 {
	return uint32((uint64(high)<<32 | uint64(low)) >> min(shift, 32))
}

// Bfe returns the field of n bits of x that starts at bit pos. pos and n are at most 255. If T is
// signed, the result is the field's sign-extended value. Bits of the field beyond the highest bit
// of x are copies of that bit if T is signed, and 0 otherwise.
//
//gpu:intrinsic
func Bfe[T Integer](x T, pos, n uint32) T { return bfe(x, pos, n) }

// Bfi returns x with the lower n bits of field inserted at bit pos. pos and n are at most 255. Bits
// beyond the highest bit of the type are dropped.
//
//gpu:intrinsic
func Bfi[T Integer](field, x T, pos, n uint32) T { return bfi(field, x, pos, n) }

// FindNthSet returns the position of a set bit of mask, counted from bit base (fns.b32). If n > 0,
// it is the n-th set bit at or above base. If n < 0, it is the n-th set bit at or below base. If n
// is 0, it is base, provided that bit is set. If there is no such bit, the result is 0xffffffff.
//
//gpu:intrinsic
func FindNthSet(mask, base uint32, n int32) uint32 {
	if n == 0 {
		if mask>>base&1 != 0 {
			return base
		}
		return 0xffffffff
	}
	step, left := uint32(1), n
	if n < 0 {
		step, left = ^uint32(0), -n
	}
	for pos := base; pos < 32; pos += step {
		if mask>>pos&1 != 0 {
			if left--; left == 0 {
				return pos
			}
		}
	}
	return 0xffffffff
}

func saturate32(x int64) int32 { return int32(min(max(x, -1<<31), 1<<31-1)) }

// bytesOf returns the byte of x that starts at bit i, sign- or zero-extended depending on T.
func bytesOf[T ~int32 | ~uint32](x T, i int) T { return x << (24 - i) >> 24 }

func dp2a[T ~int32 | ~uint32](a, b, c T, at int) T {
	return c + a<<16>>16*bytesOf(b, at) + a>>16*bytesOf(b, at+8)
}

func mulHi[T Integer](a, b T) T {
	if bitsIn(a) == 32 {
		if isSigned[T]() {
			return T(int64(a) * int64(b) >> 32)
		}
		return T(uint64(a) * uint64(b) >> 32)
	}
	high, _ := bits.Mul64(uint64(a), uint64(b))
	if isSigned[T]() {
		if a < 0 {
			high -= uint64(b)
		}
		if b < 0 {
			high -= uint64(a)
		}
	}
	return T(high)
}

// fieldByte returns the position or length that the hardware uses. If a value exceeds 255 and the
// type has 32 bits, the hardware uses only the low byte.
func fieldByte(x, width uint32) uint32 {
	if width == 32 {
		return x & 0xff
	}
	return min(x, 255)
}

func bfe[T Integer](x T, pos, n uint32) T {
	width := uint32(bitsIn(x))
	pos, n = fieldByte(pos, width), fieldByte(n, width)
	if n == 0 {
		return 0
	}
	top := min(pos+n-1, width-1) // the highest bit of the field
	fill := isSigned[T]() && uint64(x)>>top&1 != 0
	var r uint64
	if pos < width {
		r = uint64(x) << (64 - width) >> (64 - width) >> pos
	}
	if n < width {
		r &= 1<<n - 1
	}
	if have := min(n, width-min(pos, width)); fill && have < 64 {
		r |= ^uint64(0) << have
	}
	return T(r)
}

func bfi[T Integer](field, x T, pos, n uint32) T {
	width := uint32(bitsIn(x))
	pos, n = fieldByte(pos, width), fieldByte(n, width)
	if pos >= width {
		return x
	}
	mask := ^uint64(0)
	if n < width {
		mask = 1<<n - 1
	}
	return T(uint64(x)&^(mask<<pos) | uint64(field)&mask<<pos)
}
