package kernelstest

import (
	"math"

	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// number returns an element's value as a float64. The result is exact except for large 64-bit
// integers.
func number[T kernels.Element](v T) float64 {
	switch v := any(v).(type) {
	case uint8:
		return float64(v)
	case int8:
		return float64(v)
	case uint16:
		return float64(v)
	case int16:
		return float64(v)
	case uint32:
		return float64(v)
	case int32:
		return float64(v)
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case kernels.F16:
		return float64(v.Float32())
	case kernels.BF16:
		return float64(v.Float32())
	case float32:
		return float64(v)
	}
	return any(v).(float64)
}

// element rounds a number to a type: to nearest for floats, toward zero for integers.
func element[T kernels.Element](f float64) T {
	var v T
	switch p := any(&v).(type) {
	case *uint8:
		*p = uint8(f)
	case *int8:
		*p = int8(f)
	case *uint16:
		*p = uint16(f)
	case *int16:
		*p = int16(f)
	case *uint32:
		*p = uint32(int64(f))
	case *int32:
		*p = int32(f)
	case *uint64:
		*p = uint64(int64(f))
	case *int64:
		*p = int64(f)
	case *kernels.F16:
		*p = num.ToF16(float32(f))
	case *kernels.BF16:
		*p = num.ToBF16(float32(f))
	case *float32:
		*p = float32(f)
	case *float64:
		*p = f
	}
	return v
}

func elements[T kernels.Element](v []float64) []T {
	out := make([]T, len(v))
	for i, f := range v {
		out[i] = element[T](f)
	}
	return out
}

// precision returns the number of significant bits of a floating-point type and the
// exponent of its smallest normal number.
func precision[T kernels.Float]() (bits, smallest int) {
	var v T
	switch any(v).(type) {
	case kernels.F16:
		return 11, -14
	case kernels.BF16:
		return 8, -126
	case float32:
		return 24, -126
	}
	return 53, -1022
}

// ulp returns the unit in the last place of the exact result want.
func ulp[T kernels.Float](want float64) float64 {
	bits, smallest := precision[T]()
	_, e := math.Frexp(want)
	if want == 0 {
		e = smallest
	}
	return math.Ldexp(1, max(e-1, smallest)-bits+1)
}

// same compares values. All NaNs are equal, and so are positive and negative zero.
func same[T kernels.Element](a, b T) bool {
	x, y := number(a), number(b)
	return a == b || x != x && y != y || x == 0 && y == 0
}
