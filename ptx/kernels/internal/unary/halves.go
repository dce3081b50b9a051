package unary

import (
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

// halves applies function f to elements of 16 bits. See compute for the tests of its number.
func halves(f uint32, x *[8]float32) {
	switch {
	case f&8 != 0:
		sigmoidOfHalves(f, x)
	case f&4 != 0:
		switch {
		case f&2 != 0 && f&1 != 0:
			each(functions.HalfGELU, x[:])
		case f&2 != 0:
			each(functions.HalfLog, x[:])
		case f&1 != 0:
			each(functions.HalfTanh, x[:])
		default:
			each(functions.HalfRsqrt, x[:])
		}
	case f&2 != 0 && f&1 != 0:
		inTwo(num.Sqrt[float32], x)
	default:
		simple(f, x[:])
	}
}

// inTwo applies a function to four elements and then to the other four, so that there is code for four.
func inTwo(f func(float32) float32, x *[8]float32) {
	for range 2 {
		pack.Rolled()
		for k := range 4 {
			x[k], x[k+4] = x[k+4], f(x[k])
		}
	}
}

func sigmoidOfHalves(f uint32, x *[8]float32) {
	if f&3 == 0 {
		each(functions.HalfExp, x[:])
		return
	}
	var e [8]float32
	if f&3 == GELUTanh&3 {
		for k, v := range x {
			e[k] = functions.HalfGELUTanhExp(v)
		}
	} else {
		for k, v := range x {
			e[k] = functions.HalfSigmoidExp(v)
		}
	}
	if f&2 != 0 {
		for k, v := range x {
			x[k] = functions.Quotient(v, e[k])
		}
	} else {
		for k := range x {
			x[k] = functions.Quotient(1, e[k])
		}
	}
}
