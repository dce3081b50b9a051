package unary

import (
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
	"github.com/purecuda/cuda/ptx/num"
)

// halves applies function f, which is not GELU, to four elements of 16 bits. See compute for the tests of its number.
func halves(f uint32, x *[4]float32) {
	switch {
	case f&8 != 0:
		sigmoidOfHalves(f, x)
	case f&4 != 0:
		switch {
		case f&2 != 0:
			each(functions.HalfLog, x[:])
		case f&1 != 0:
			each(functions.HalfTanh, x[:])
		default:
			each(functions.HalfRsqrt, x[:])
		}
	case f&2 != 0 && f&1 != 0:
		each(num.Sqrt[float32], x[:])
	default:
		simple(f, x[:])
	}
}

func sigmoidOfHalves(f uint32, x *[4]float32) {
	if f&3 == 0 {
		each(functions.HalfExp, x[:])
		return
	}
	var e [4]float32
	if f&3 == GELUTanh&3 {
		for k, v := range x {
			e[k] = functions.HalfGELUTanhExp(v)
		}
	} else {
		for k, v := range x {
			e[k] = functions.HalfSigmoidExp(v)
		}
	}
	if f&2 == 0 {
		*x = [4]float32{1, 1, 1, 1}
	}
	for k, v := range x {
		x[k] = functions.Quotient(v, e[k])
	}
}
