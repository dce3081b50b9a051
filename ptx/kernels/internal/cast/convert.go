package cast

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// convert converts numbers between two types. Elements of type float64 are in x. If throughDouble is true, smaller floats
// become float64 there, too. Otherwise they are in f until they are rounded to 16 bits or become small integers.
func convert(x *bits, to, from uint32) {
	var f [each]float32
	throughDouble := to&3 == U64 || to == U32
	switch {
	case from&float == 0:
		if from&I8 != 0 {
			unused := 64 - uint32(8)<<(from&3)
			for k := range x {
				x[k] = uint64(int64(x[k]) << unused >> unused)
			}
		}
		if to&float == 0 || ofIntegers(x, to, from, &f) {
			return
		}
	case from == F64:
		switch {
		case to&float == 0:
		case to == F32:
			for k := range x {
				x[k] = uint64(math.Float32bits(float32(math.Float64frombits(x[k]))))
			}
			return
		default:
			for k := range f {
				d := math.Float64frombits(x[k])
				v := gpu.Convert[float32](d, gpu.ToZero)
				f[k] = odd(v, float64(v) == d) // a NaN remains one
			}
		}
	default:
		singles(x, from, &f)
		switch {
		case to == F32:
			for k := range f {
				x[k] = uint64(math.Float32bits(f[k]))
			}
			return
		case throughDouble:
			for k := range f {
				x[k] = math.Float64bits(float64(f[k]))
			}
		}
	}
	switch {
	case to == BF16:
		for k := range f {
			x[k] = uint64(num.ToBF16(f[k]).Bits())
		}
	case to == F16:
		for k := range f {
			x[k] = uint64(num.ToF16(f[k]).Bits())
		}
	case !throughDouble:
		small(x, &f, to, from)
	case to != F64:
		large(x, to)
	}
}

// singles sets f to floats that float32 can hold.
func singles(x *bits, from uint32, f *[each]float32) {
	switch from {
	case F32:
		for k := range f {
			f[k] = math.Float32frombits(uint32(x[k]))
		}
	case BF16:
		for k := range f {
			f[k] = num.BF16FromBits(uint16(x[k])).Float32()
		}
	default:
		for k := range f {
			f[k] = num.F16FromBits(uint16(x[k])).Float32()
		}
	}
}

// ofIntegers converts integers to float64 or float32, and returns true. For floats of 16 bits, it sets f to what
// must be rounded, and returns false.
func ofIntegers(x *bits, to, from uint32, f *[each]float32) bool {
	if from == U64 {
		switch to {
		case F64:
			for k, v := range x {
				x[k] = math.Float64bits(float64(v))
			}
			return true
		case F32:
			for k, v := range x {
				x[k] = uint64(math.Float32bits(float32(v)))
			}
			return true
		}
		for k, v := range x {
			f[k] = gpu.Convert[float32](v, gpu.ToZero)
			f[k] = odd(f[k], uint64(f[k]) == v)
		}
		return false
	}
	switch to {
	case F32:
		for k, v := range x {
			x[k] = uint64(math.Float32bits(float32(int64(v))))
		}
		return true
	case F64:
		for k, v := range x {
			x[k] = math.Float64bits(float64(int64(v)))
		}
		return true
	}
	for k, v := range x {
		f[k] = gpu.Convert[float32](int64(v), gpu.ToZero)
		f[k] = odd(f[k], int64(f[k]) == int64(v))
	}
	return false
}

// odd returns a number that was rounded to zero, as rounded to odd. Rounding that to 16 bits has the same result as
// rounding the number.
func odd(f float32, exact bool) float32 {
	if !exact {
		f = math.Float32frombits(math.Float32bits(f) | 1)
	}
	return f
}

// large converts float64 to integers of 64 bits and to uint32. They are limited to the range of the type.
func large(x *bits, to uint32) {
	switch to {
	case U64:
		for k, v := range x {
			x[k] = uint64(math.Float64frombits(v))
		}
	case I64:
		for k, v := range x {
			x[k] = uint64(int64(math.Float64frombits(v)))
		}
	default:
		for k, v := range x {
			x[k] = uint64(uint32(math.Float64frombits(v)))
		}
	}
}

// small converts to other integers, which are limited to the range of the type: x if its elements are float64, and
// otherwise f.
func small(x *bits, f *[each]float32, to, from uint32) {
	var s [each]int32
	if from != F64 {
		for k, v := range f {
			s[k] = int32(v)
		}
	} else {
		for k, v := range x {
			s[k] = int32(math.Float64frombits(v))
		}
	}
	size := uint32(8) << (to & 3)
	low, high := int32(0), int32(1)<<size-1
	if to&I8 != 0 {
		high = int32(1)<<(size-1) - 1
		low = -high - 1
	}
	for k, v := range s {
		x[k] = uint64(max(min(v, high), low))
	}
}
