package gpu

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/purecuda/cuda/internal/softfloat"
	"github.com/purecuda/cuda/ptx/num"
)

// modeOf returns the corresponding mode of package softfloat. Both packages list the modes in the
// same order.
func modeOf(mode Rounding) softfloat.Mode {
	if mode > ToPositiveInf {
		panic(fmt.Errorf("%d is not a rounding mode", mode))
	}
	return softfloat.RN + softfloat.Mode(mode)
}

// isFloat32 reports whether the underlying type of T is float32.
func isFloat32[T Float]() bool { return unsafe.Sizeof(*new(T)) == 4 }

type (
	binary32 = func(a, b float32, mode softfloat.Mode) float32
	binary64 = func(a, b float64, mode softfloat.Mode) float64
	unary32  = func(a float32, mode softfloat.Mode) float32
	unary64  = func(a float64, mode softfloat.Mode) float64
)

func round2[T Float](a, b T, mode Rounding, f32 binary32, f64 binary64) T {
	if isFloat32[T]() {
		return T(f32(float32(a), float32(b), modeOf(mode)))
	}
	return T(f64(float64(a), float64(b), modeOf(mode)))
}

func round1[T Float](a T, mode Rounding, f32 unary32, f64 unary64) T {
	if isFloat32[T]() {
		return T(f32(float32(a), modeOf(mode)))
	}
	return T(f64(float64(a), modeOf(mode)))
}

func fmaRound[T Float](a, b, c T, mode Rounding) T {
	if isFloat32[T]() {
		return T(softfloat.FMAF32Mode(float32(a), float32(b), float32(c), modeOf(mode)))
	}
	return T(softfloat.FMAF64(float64(a), float64(b), float64(c), modeOf(mode)))
}

func integral(x float64, mode Rounding) float64 {
	return math.Copysign(softfloat.Integral(x, modeOf(mode)), x)
}

// approx evaluates an approximate function in the same way as the emulator.
func approx(x float32, name string) float32 {
	return softfloat.Canonical(float32(softfloat.Function(name)(float64(x))))
}

// flush replaces a subnormal number with zero.
func flush(x float32) float32 {
	if -0x1p-126 < x && x < 0x1p-126 {
		return math.Float32frombits(math.Float32bits(x) & (1 << 31))
	}
	return x
}

// convert implements the cvt instruction. For integer results, it implements cvt with .sat.
func convert[T, F num.Number](x F, mode Rounding) T {
	m := modeOf(mode)
	bits, signed, toInt := integerType[T]()
	mag, neg, fromInt := integerOf(x)
	switch {
	case toInt && fromInt:
		return num.To[T](x)
	case toInt:
		return valueOf[T](toInteger(num.To[float64](x), m, bits, signed, unsafe.Sizeof(x) == 8))
	}
	var y T
	switch p := any(&y).(type) {
	case *float64:
		if *p = num.To[float64](x); fromInt {
			*p = softfloat.IntToF64(mag, neg, m)
		}
	case *float32:
		if fromInt {
			*p = softfloat.IntToF32(mag, neg, m)
		} else {
			*p = softfloat.ToF32(num.To[float64](x), m)
		}
	case *num.F16:
		*p = num.F16FromBits(uint16(softfloat.Encode(odd(x), 10, 5, m)))
	case *num.BF16:
		*p = num.BF16FromBits(uint16(softfloat.Encode(odd(x), 7, 8, m)))
	}
	return y
}

// odd converts x to float64. An integer that float64 cannot represent is rounded to odd.
func odd[F num.Number](x F) float64 {
	mag, neg, ok := integerOf(x)
	if !ok {
		return num.To[float64](x)
	}
	f := softfloat.IntToF64(mag, false, softfloat.RZ)
	if uint64(f) != mag {
		f = math.Float64frombits(math.Float64bits(f) | 1)
	}
	if neg {
		return -f
	}
	return f
}

// toInteger converts x to an integer type and returns the bits of the result.
func toInteger(x float64, m softfloat.Mode, bits uint, signed, wide bool) uint64 {
	switch {
	case x == x:
		return softfloat.FloatToInt(softfloat.Integral(x, m), bits, signed)
	case bits == 64 || wide:
		return 1 << (bits - 1)
	}
	return 0
}

// If T is an integer type, integerType returns its size in bits and whether it is signed.
func integerType[T num.Number]() (bits uint, signed, ok bool) {
	var x T
	bits = 8 * uint(unsafe.Sizeof(x))
	switch any(x).(type) {
	case int8, int16, int32, int64, int:
		return bits, true, true
	case uint8, uint16, uint32, uint64, uint:
		return bits, false, true
	}
	return bits, false, false
}

// integerOf returns the magnitude and sign of x if it is an integer.
func integerOf[F num.Number](x F) (mag uint64, neg, ok bool) {
	_, signed, ok := integerType[F]()
	if !ok {
		return 0, false, false
	}
	if i := num.To[int64](x); signed && i < 0 {
		return -uint64(i), true, true
	}
	return num.To[uint64](x), false, true
}
