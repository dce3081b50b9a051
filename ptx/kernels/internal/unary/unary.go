// Package unary contains the kernels that apply a function to each element: one for float64, and one for
// float32 and for F16 and BF16, which are computed in float32 and rounded. A parameter selects the function
// and the type.
package unary

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The functions.
const (
	Neg = iota
	Abs
	ReLU
	Sqrt
	Rsqrt
	Tanh
	Log
	GELU
	Exp
	Sigmoid
	SiLU
	GELUTanh
)

// Of returns the part of a function's number that selects the type of floats.
func Of(kind pack.Kind) uint32 { return uint32(kind) << 4 }

//gpu:kernel block=256 minblocks=6
func unary_float(t gpu.Thread, dst, n, src uint64, f uint32) {
	kind := pack.Kind(f >> 4)
	pack.EachFloat(t, dst, n, kind, func(p pack.Part) {
		w := pack.LoadFloats(p, src, kind)
		w.Map(kind, func(x *[4]float32) { compute(f&15, x[:]) })
		pack.StoreFloats(p, dst, kind, w)
	})
}

//gpu:kernel block=256
func unary_f64(t gpu.Thread, dst, n, src uint64, f uint32) {
	count := pack.Full[uint64]()
	pack.Each[uint64](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[uint64]
		pack.Load(p, src, count, &x)
		// One at a time: the code is half as long, and other threads keep the multiprocessor busy.
		//gpu:unroll 1
		for range count {
			y := [1]float64{math.Float64frombits(x[0])}
			compute(f, y[:])
			x[0], x[1] = x[1], math.Float64bits(y[0])
		}
		pack.Store(p, dst, count, &x)
	})
}

// each applies a function to each element.
func each[T functions.Float](f func(T) T, x []T) {
	for k := range x {
		x[k] = f(x[k])
	}
}

// compute applies function f.
func compute[T functions.Float](f uint32, x []T) {
	switch f {
	case Neg:
		for k := range x {
			x[k] = -x[k]
		}
	case Abs:
		for k := range x {
			x[k] = num.Abs(x[k])
		}
	case ReLU: // NaN stays NaN
		for k := range x {
			if x[k] < 0 {
				x[k] = 0
			}
		}
	case Sqrt:
		for k := range x {
			x[k] = num.Sqrt(x[k])
		}
	case Rsqrt:
		each(functions.Rsqrt[T], x)
	case Tanh:
		each(functions.Tanh[T], x)
	case Log:
		each(functions.Log[T], x)
	case GELU:
		each(functions.GELU[T], x)
	default:
		sigmoid(f, x)
	}
}

// sigmoid computes the functions of the form x / (1 + exp(u)).
func sigmoid[T functions.Float](f uint32, x []T) {
	var u [4 * 2]T
	switch f {
	case Exp:
		//lint:ignore S1001 the elements are in registers
		for k := range x {
			u[k] = x[k]
		}
	case GELUTanh:
		for k, v := range x {
			u[k] = functions.GELUTanhArgument(v)
		}
	default:
		for k := range x {
			u[k] = -x[k]
		}
	}
	for k := range x {
		u[k] = functions.Exp(u[k])
	}
	switch f {
	case Exp:
		for k := range x {
			x[k] = u[k]
		}
	case Sigmoid:
		for k := range x {
			x[k] = functions.Quotient(1, u[k])
		}
	default:
		for k := range x {
			x[k] = functions.Quotient(x[k], u[k])
		}
	}
}
