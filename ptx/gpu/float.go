package gpu

import (
	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx/num"
)

// Float lists the types that support directed rounding.
type Float interface{ ~float32 | ~float64 }

// Rounding is a rounding mode. Arguments of this type must be constants.
type Rounding uint8

// The rounding modes, with the PTX modifiers for floating-point results and for integer results.
const (
	ToNearestEven Rounding = iota // .rn, .rni
	ToZero                        // .rz, .rzi
	ToNegativeInf                 // .rm, .rmi
	ToPositiveInf                 // .rp, .rpi
)

// FMA returns a*b+c, rounded once (fma.rn). Package num has FMA for 16-bit types.
//
//gpu:intrinsic
func FMA[T Float](a, b, c T) T { return FMARound(a, b, c, ToNearestEven) }

// AddRound returns a+b in the given rounding mode. It is never fused with a multiplication.
//
//gpu:intrinsic
func AddRound[T Float](a, b T, mode Rounding) T {
	return round2(a, b, mode, softfloat.AddF32, softfloat.AddF64)
}

// SubRound returns a-b in the given rounding mode. It is never fused with a multiplication.
//
//gpu:intrinsic
func SubRound[T Float](a, b T, mode Rounding) T {
	return round2(a, -b, mode, softfloat.AddF32, softfloat.AddF64)
}

// MulRound returns a*b in the given rounding mode. It is never fused with an addition.
//
//gpu:intrinsic
func MulRound[T Float](a, b T, mode Rounding) T {
	return round2(a, b, mode, softfloat.MulF32, softfloat.MulF64)
}

// DivRound returns a/b in the given rounding mode.
//
//gpu:intrinsic
func DivRound[T Float](a, b T, mode Rounding) T {
	return round2(a, b, mode, softfloat.DivF32, softfloat.DivF64)
}

// FMARound returns a*b+c, rounded once in the given mode.
//
//gpu:intrinsic
func FMARound[T Float](a, b, c T, mode Rounding) T { return fmaRound(a, b, c, mode) }

// SqrtRound returns the square root of a in the given rounding mode.
//
//gpu:intrinsic
func SqrtRound[T Float](a T, mode Rounding) T {
	return round1(a, mode, softfloat.SqrtF32, softfloat.SqrtF64)
}

// RcpRound returns 1/a in the given rounding mode.
//
//gpu:intrinsic
func RcpRound[T Float](a T, mode Rounding) T {
	return round2(1, a, mode, softfloat.DivF32, softfloat.DivF64)
}

// RoundInt rounds a to an integral value in the given mode (cvt.rni and similar).
//
//gpu:intrinsic
func RoundInt[T Float](a T, mode Rounding) T { return T(integral(float64(a), mode)) }

// Saturate returns a, limited to the range from 0 to 1 (__saturatef). For a NaN, it returns 0.
//
//gpu:intrinsic
func Saturate[T Float](a T) T {
	switch {
	case a >= 1:
		return 1
	case a > 0:
		return a
	}
	return 0
}

// Convert converts x to type T in the given rounding mode, using a single cvt instruction if PTX
// has one for these types. If T is an integer type, a number outside its range becomes the nearest
// integer of the type. A NaN becomes 0, but if x is a float64 or T has 64 bits, it becomes the
// integer that has only the highest bit set. If T is a floating-point type, a number that is too
// large becomes infinity or the largest finite number, depending on the mode. E4M3 and E5M2 require
// ToNearestEven and limit the result in the same way as num.To.
func Convert[T, F num.Number](x F, mode Rounding) T {
	if isSmall[T]() {
		if mode != ToNearestEven {
			panic("Convert to E4M3 and E5M2 rounds only to nearest")
		}
		return num.To[T](x)
	}
	if isSmall[F]() {
		return cvt[T](num.To[float32](x), mode)
	}
	return cvt[T](x, mode)
}

// isSmall reports whether T is an 8-bit type. PTX has no general conversions for these types.
func isSmall[T num.Number]() bool {
	var x T
	switch any(x).(type) {
	case num.E4M3, num.E5M2:
		return true
	}
	return false
}

// cvt is like Convert, but for types other than the 8-bit types.
//
//gpu:intrinsic
func cvt[T, F num.Number](x F, mode Rounding) T { return convert[T](x, mode) }
