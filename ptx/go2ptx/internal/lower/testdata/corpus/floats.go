package corpus

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

func Floats(a, b float64) (float64, float64, float64, float64, float64) {
	return a + b, a - b, float64(a * b), a / b, -a
}
func Floats32(a, b float32) (float32, float32, float32, float32, float32) {
	return a + b, a - b, float32(a * b), a / b, -a
}
func CompareFloats(a, b float64) (bool, bool, bool, bool, bool, bool) {
	return a < b, a <= b, a > b, a >= b, a == b, a != b
}
func MinFloat(a, b float32) (float32, float32) { return min(a, b), max(a, b) }
func ToFloat(a int, b uint64, c int8, d uint32) (float64, float64, float32, float32, float32) {
	return float64(a), float64(b), float32(c), float32(d), float32(a)
}
func FromFloat(a int32) (int, int8, uint8, int32) {
	f := float64(a%100) + 0.75
	if f < 0 {
		return int(f), int8(f), 0, int32(f)
	}
	return int(f), int8(f), uint8(f), int32(f)
}
func Round32(a float64) float32 { return float32(a) }
func Widen32(a float32) float64 { return float64(a) * 0.1 }
func Pinned(x, y, z float32) float32 {
	p := x * y
	p = float32(p)
	return p + z
}
func Bits(a float32, b float64, c uint32) (uint32, uint64, bool) {
	f := math.Float32frombits(c)
	return math.Float32bits(a), math.Float64bits(b), f == f
}
func Math(x, y float64) (float64, float64, float64, float64, float64, float64, float64) {
	return math.Sqrt(x), math.Abs(x), math.Floor(x), math.Ceil(x), math.Trunc(x), math.RoundToEven(x), math.Copysign(x, y)
}
func MathBool(x float64) (bool, bool, bool, bool) {
	return math.IsNaN(x), math.IsInf(x, 1), math.IsInf(x, 0), math.Signbit(x)
}
func MathFMA(x, y, z float64) float64  { return math.FMA(x, y, z) }
func MathMax(x, y float64) float64     { return math.Max(x, y) }
func MathInf(n int) (float64, float64) { return math.Inf(n), math.NaN() }

func Complex(a, b, c, d float64) (complex128, complex128, complex128) {
	x, y := complex(a, b), complex(c, d)
	return x + y, x - y, -x
}
func ComplexMul(a, b, c, d int16) complex128 {
	x, y := complex(float64(a), float64(b)), complex(float64(c), float64(d))
	return x * y
}
func ComplexDiv(a, b, c, d float64) complex128 { return complex(a, b) / complex(c, d) }
func Complex64(a, b, c, d int8) (complex64, float32, float32) {
	x, y := complex(float32(a), float32(b)), complex(float32(c), float32(d))
	z := x*y + 2i
	return z, real(z), imag(z)
}
func Complex64Div(a, b, c, d float32) complex64 { return complex(a, b) / complex(c, d) }
func ComplexEqual(a, b, c float64) (bool, bool) {
	return complex(a, b) == complex(a, c), complex128(complex64(complex(a, 1))) != complex(b, 1)
}
func Convert32(x float32) (int8, uint16, int32, uint32, int64, uint64) {
	return gpu.Convert[int8](x, gpu.ToZero), gpu.Convert[uint16](x, gpu.ToNearestEven), gpu.Convert[int32](x, gpu.ToNegativeInf),
		gpu.Convert[uint32](x, gpu.ToPositiveInf), gpu.Convert[int64](x, gpu.ToZero), gpu.Convert[uint64](x, gpu.ToZero)
}
func Convert64(x float64) (int8, uint8, uint16, int32, uint32, int64, uint64) {
	return gpu.Convert[int8](x, gpu.ToZero), gpu.Convert[uint8](x, gpu.ToZero), gpu.Convert[uint16](x, gpu.ToNearestEven), gpu.Convert[int32](x, gpu.ToNegativeInf),
		gpu.Convert[uint32](x, gpu.ToPositiveInf), gpu.Convert[int64](x, gpu.ToZero), gpu.Convert[uint64](x, gpu.ToZero)
}
