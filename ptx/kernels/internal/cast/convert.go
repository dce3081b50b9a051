package cast

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

// narrow converts to a type of up to 32 bits. Only the low bits of the results for smaller types are
// used.
func narrow[T number](v *[each]T, to, from uint32, x *pack.Elements[uint32]) {
	switch {
	case to&float == 0:
		integers(v, to, x)
	case to == F32:
		singles(v, from, x)
	default:
		var f [each]float32
		for k := range each {
			f[k] = odd(v[k], from)
		}
		if to == BF16 {
			for k := range each {
				x[k] = uint32(num.ToBF16(f[k]).Bits())
			}
		} else {
			for k := range each {
				x[k] = uint32(num.ToF16(f[k]).Bits())
			}
		}
	}
}

// singles converts to float32.
func singles[T number](v *[each]T, from uint32, x *pack.Elements[uint32]) {
	if v, ok := any(v).(*[each]int64); ok && from == U64 {
		for k := range each {
			x[k] = math.Float32bits(float32(uint64(v[k])))
		}
		return
	}
	for k := range each {
		x[k] = math.Float32bits(float32(v[k]))
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
func wide[T number](v *[each]T, to, from uint32, x *pack.Elements[uint64]) {
	switch to {
	case F64:
		for k := range each {
			d := float64(v[k])
			if !isFloat[T]() && from == U64 {
				d = float64(uint64(v[k]))
			}
			x[k] = math.Float64bits(d)
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

// odd returns v as float32, rounded to odd. Rounding that to 16 bits has the same result as rounding v.
func odd[T number](v T, from uint32) float32 {
	var f float32
	var exact bool
	switch v := any(v).(type) {
	case float32:
		return v
	case float64:
		f = gpu.Convert[float32](v, gpu.ToZero)
		exact = float64(f) == v || v != v
	case int64:
		if from == U64 {
			f = gpu.Convert[float32](uint64(v), gpu.ToZero)
			exact = uint64(f) == uint64(v)
		} else {
			f = gpu.Convert[float32](v, gpu.ToZero)
			exact = int64(f) == v
		}
	}
	if !exact {
		f = math.Float32frombits(math.Float32bits(f) | 1)
	}
	return f
}
