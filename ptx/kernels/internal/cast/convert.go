package cast

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// convert converts numbers between two types. Floats of up to 32 bits are held as float32. Integers are made of float64,
// which has all numbers of smaller floats.
func convert(x *bits, to, from uint32) {
	var f [each]float32
	var d [each]float64
	switch {
	case from&float == 0:
		if from&I8 != 0 {
			unused := 64 - uint32(8)<<(from&3)
			for k := range x {
				x[k] = uint64(int64(x[k]) << unused >> unused)
			}
		}
		if to&float == 0 {
			return
		}
		ofIntegers(x, to, from, &d, &f)
	case from == F64:
		for k := range x {
			d[k] = math.Float64frombits(x[k])
		}
		if to == F32 {
			for k := range d {
				f[k] = float32(d[k])
			}
		} else {
			for k := range d {
				v := gpu.Convert[float32](d[k], gpu.ToZero)
				f[k] = odd(v, float64(v) == d[k] || d[k] != d[k])
			}
		}
	default:
		singles(x, from, &f)
		for k := range f {
			d[k] = float64(f[k])
		}
	}
	switch {
	case to&float == 0:
		integers(&d, to, x)
	case to == F64:
		for k := range d {
			x[k] = math.Float64bits(d[k])
		}
	case to == F32:
		for k := range f {
			x[k] = uint64(math.Float32bits(f[k]))
		}
	case to == BF16:
		for k := range f {
			x[k] = uint64(num.ToBF16(f[k]).Bits())
		}
	default:
		for k := range f {
			x[k] = uint64(num.ToF16(f[k]).Bits())
		}
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

// ofIntegers converts integers to the float that is needed.
func ofIntegers(x *bits, to, from uint32, d *[each]float64, f *[each]float32) {
	switch {
	case from == U64:
		for k, v := range x {
			switch to {
			case F64:
				d[k] = float64(v)
			case F32:
				f[k] = float32(v)
			default:
				f[k] = gpu.Convert[float32](v, gpu.ToZero)
				f[k] = odd(f[k], uint64(f[k]) == v)
			}
		}
	case to == F64:
		for k, v := range x {
			d[k] = float64(int64(v))
		}
	case to == F32:
		for k, v := range x {
			f[k] = float32(int64(v))
		}
	default:
		for k, v := range x {
			f[k] = gpu.Convert[float32](int64(v), gpu.ToZero)
			f[k] = odd(f[k], int64(f[k]) == int64(v))
		}
	}
}

// odd returns a number that was rounded to zero, as rounded to odd. Rounding that to 16 bits has the same result as
// rounding the number.
func odd(f float32, exact bool) float32 {
	if !exact {
		f = math.Float32frombits(math.Float32bits(f) | 1)
	}
	return f
}

// integers converts to integers, which are limited to the range of the type.
func integers(d *[each]float64, to uint32, x *bits) {
	switch to {
	case U64:
		for k, v := range d {
			x[k] = uint64(v)
		}
	case I64:
		for k, v := range d {
			x[k] = uint64(int64(v))
		}
	case U32:
		for k, v := range d {
			x[k] = uint64(uint32(v))
		}
	default:
		low, high := int32(0), int32(1)<<(8<<(to&3))-1
		if to&I8 != 0 {
			high = int32(1)<<(8<<(to&3)-1) - 1
			low = -high - 1
		}
		for k, v := range d {
			x[k] = uint64(max(min(int32(v), high), low))
		}
	}
}
