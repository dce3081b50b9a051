package cast

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

// narrow converts to a type of up to 32 bits. Only the low bits of the results for smaller types are
// used.
func narrow[T number](v *[each]T, to uint32, x *pack.Elements[uint32]) {
	switch to {
	case F32:
		for k := range each {
			x[k] = math.Float32bits(float32(v[k]))
		}
	case F16:
		for k := range each {
			x[k] = uint32(toF16(v[k]).Bits())
		}
	case BF16:
		for k := range each {
			x[k] = uint32(toBF16(v[k]).Bits())
		}
	default:
		integers(v, to, x)
	}
}

// integers converts to an integer of up to 32 bits. Integers are truncated, which drops bits, and floats
// are limited to the range of the type.
func integers[T number](v *[each]T, to uint32, x *pack.Elements[uint32]) {
	if !isFloat[T]() {
		for k := range each {
			x[k] = uint32(v[k])
		}
		return
	}
	switch to {
	case U8:
		for k := range each {
			x[k] = uint32(uint8(v[k]))
		}
	case U16:
		for k := range each {
			x[k] = uint32(uint16(v[k]))
		}
	case U32:
		for k := range each {
			x[k] = uint32(v[k])
		}
	case I8:
		for k := range each {
			x[k] = uint32(int8(v[k]))
		}
	case I16:
		for k := range each {
			x[k] = uint32(int16(v[k]))
		}
	case I32:
		for k := range each {
			x[k] = uint32(int32(v[k]))
		}
	}
}

// wide converts to a type of 64 bits.
func wide[T number](v *[each]T, to uint32, x *pack.Elements[uint64]) {
	switch to {
	case F64:
		for k := range each {
			x[k] = math.Float64bits(float64(v[k]))
		}
	case I64:
		for k := range each {
			x[k] = uint64(int64(v[k]))
		}
	case U64:
		for k := range each {
			x[k] = uint64(v[k])
		}
	}
}

func isFloat[T number]() bool {
	var v T
	switch any(v).(type) {
	case float32, float64:
		return true
	}
	return false
}

func toF16[T number](v T) num.F16 {
	if v, ok := any(v).(float64); ok {
		return num.F16FromFloat64(v)
	}
	return num.ToF16(odd(v))
}

func toBF16[T number](v T) num.BF16 {
	if v, ok := any(v).(float64); ok {
		return num.BF16FromFloat64(v)
	}
	return num.ToBF16(odd(v))
}

// odd returns v as float32, rounded to odd. Rounding that to 16 bits has the same result as rounding v.
func odd[T number](v T) float32 {
	if isFloat[T]() {
		return float32(v)
	}
	f := gpu.Convert[float32](v, gpu.ToZero)
	if T(f) != v {
		return math.Float32frombits(math.Float32bits(f) | 1)
	}
	return f
}
