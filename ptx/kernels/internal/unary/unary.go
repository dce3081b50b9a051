// Package unary contains the kernels that apply a function to each element. Functions that share most
// of their code share a kernel, which has a parameter for the function. F16 and BF16 share kernels,
// too. They are computed in float32.
package unary

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The functions of the kernels simple and sigmoid. The other kernels have one function, 0. All of them
// can be combined with BF16.
const (
	Neg = iota
	Abs
	ReLU
	Sqrt
	Rsqrt
)

const (
	Exp = iota
	Sigmoid
	SiLU
	GELUTanh
)

// BF16 selects BF16 instead of F16 in the kernels for 16-bit types.
const BF16 = 16

//gpu:kernel block=256
func simple_half(t gpu.Thread, dst, n, src uint64, f uint32) { half(t, dst, n, src, f, simple) }

//gpu:kernel block=256
func simple_f32(t gpu.Thread, dst, n, src uint64, f uint32) { single(t, dst, n, src, f, simple) }

//gpu:kernel block=256
func simple_f64(t gpu.Thread, dst, n, src uint64, f uint32) { double(t, dst, n, src, f, simple) }

//gpu:kernel block=256
func sigmoid_half(t gpu.Thread, dst, n, src uint64, f uint32) { half(t, dst, n, src, f, sigmoid) }

//gpu:kernel block=256
func sigmoid_f32(t gpu.Thread, dst, n, src uint64, f uint32) { single(t, dst, n, src, f, sigmoid) }

//gpu:kernel block=256
func sigmoid_f64(t gpu.Thread, dst, n, src uint64, f uint32) { double(t, dst, n, src, f, sigmoid) }

//gpu:kernel block=256
func tanh_half(t gpu.Thread, dst, n, src uint64, f uint32) {
	half(t, dst, n, src, f, each(tanh[float32]))
}

//gpu:kernel block=256
func tanh_f32(t gpu.Thread, dst, n, src uint64, f uint32) {
	single(t, dst, n, src, f, each(tanh[float32]))
}

//gpu:kernel block=256
func tanh_f64(t gpu.Thread, dst, n, src uint64, f uint32) {
	double(t, dst, n, src, f, each(tanh[float64]))
}

//gpu:kernel block=256
func log_half(t gpu.Thread, dst, n, src uint64, f uint32) {
	half(t, dst, n, src, f, each(log[float32]))
}

//gpu:kernel block=256
func log_f32(t gpu.Thread, dst, n, src uint64, f uint32) {
	single(t, dst, n, src, f, each(log[float32]))
}

//gpu:kernel block=256
func log_f64(t gpu.Thread, dst, n, src uint64, f uint32) {
	double(t, dst, n, src, f, each(log[float64]))
}

//gpu:kernel block=256
func gelu_half(t gpu.Thread, dst, n, src uint64, f uint32) {
	half(t, dst, n, src, f, each(gelu[float32]))
}

//gpu:kernel block=256
func gelu_f32(t gpu.Thread, dst, n, src uint64, f uint32) {
	single(t, dst, n, src, f, each(gelu[float32]))
}

//gpu:kernel block=256
func gelu_f64(t gpu.Thread, dst, n, src uint64, f uint32) {
	double(t, dst, n, src, f, each(gelu[float64]))
}

func half(t gpu.Thread, dst, n, src uint64, f uint32, compute func(f uint32, x []float32)) {
	count := pack.Full[uint16]()
	pack.Each[uint16](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[uint16]
		var y [8]float32
		pack.Load(p, src, count, &x)
		pack.FromHalf(f&BF16 != 0, &x, &y)
		compute(f&^BF16, y[:])
		pack.ToHalf(f&BF16 != 0, &y, &x)
		pack.Store(p, dst, count, &x)
	})
}

func single(t gpu.Thread, dst, n, src uint64, f uint32, compute func(f uint32, x []float32)) {
	count := pack.Full[uint32]()
	pack.Each[uint32](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[uint32]
		var y [4]float32
		pack.Load(p, src, count, &x)
		for k := range y {
			y[k] = math.Float32frombits(x[k])
		}
		compute(f, y[:])
		for k := range y {
			x[k] = math.Float32bits(y[k])
		}
		pack.Store(p, dst, count, &x)
	})
}

func double(t gpu.Thread, dst, n, src uint64, f uint32, compute func(f uint32, x []float64)) {
	count := pack.Full[uint64]()
	pack.Each[uint64](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[uint64]
		var y [2]float64
		pack.Load(p, src, count, &x)
		for k := range y {
			y[k] = math.Float64frombits(x[k])
		}
		compute(f, y[:])
		for k := range y {
			x[k] = math.Float64bits(y[k])
		}
		pack.Store(p, dst, count, &x)
	})
}

// each applies a function to each element.
func each[T float](f func(T) T) func(uint32, []T) {
	return func(_ uint32, x []T) {
		for k := range x {
			x[k] = f(x[k])
		}
	}
}

func simple[T float](f uint32, x []T) {
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
		for k := range x {
			x[k] = rsqrt(x[k])
		}
	}
}

// sigmoid computes the functions of the form x / (1 + exp(u)).
func sigmoid[T float](f uint32, x []T) {
	var u [4 * 2]T
	switch f {
	case Exp:
		for k := range x {
			u[k] = x[k]
		}
	case GELUTanh:
		// (1 + tanh v) / 2 is the sigmoid of 2v, which keeps its digits where the sum loses them.
		for k, v := range x {
			u[k] = v * (-1.5957691216057308 + -0.07135481627260025*(v*v))
		}
	default:
		for k := range x {
			u[k] = -x[k]
		}
	}
	for k := range x {
		u[k] = exp(u[k])
	}
	switch f {
	case Exp:
		for k := range x {
			x[k] = u[k]
		}
	case Sigmoid:
		for k := range x {
			x[k] = quotient(1, 1+u[k])
		}
	default:
		for k := range x {
			x[k] = quotient(x[k], 1+u[k])
		}
	}
}
