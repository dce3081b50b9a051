// Package library contains the functions that package fused uses in its kernels, and the kernel of unary functions of
// float64, which calls them.
package library

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/kernels/internal/unary"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// Text returns the PTX of the functions.
func Text() []byte { return gpuPTX }

//gpu:noinline
func exp_f32(x float32) float32 { return functions.Exp(x) }

//gpu:noinline
func exp_f64(x float64) float64 { return functions.Exp(x) }

//gpu:noinline
func log_f32(x float32) float32 { return functions.Log(x) }

//gpu:noinline
func log_f64(x float64) float64 { return functions.Log(x) }

//gpu:noinline
func tanh_f32(x float32) float32 { return functions.Tanh(x) }

//gpu:noinline
func tanh_f64(x float64) float64 { return functions.Tanh(x) }

//gpu:noinline
func rsqrt_f32(x float32) float32 { return functions.Rsqrt(x) }

//gpu:noinline
func rsqrt_f64(x float64) float64 { return functions.Rsqrt(x) }

//gpu:noinline
func sigmoid_f32(x float32) float32 { return functions.Sigmoid(x) }

//gpu:noinline
func sigmoid_f64(x float64) float64 { return functions.Quotient(1, exp_f64(-x)) }

//gpu:noinline
func silu_f32(x float32) float32 { return functions.SiLU(x) }

//gpu:noinline
func silu_f64(x float64) float64 { return functions.Quotient(x, exp_f64(-x)) }

//gpu:noinline
func gelu_f32(x float32) float32 { return functions.GELU(x) }

//gpu:noinline
func gelu_f64(x float64) float64 { return functions.GELU(x) }

//gpu:noinline
func gelutanh_f32(x float32) float32 { return functions.GELUTanh(x) }

//gpu:noinline
func gelutanh_f64(x float64) float64 {
	return functions.Quotient(x, exp_f64(functions.GELUTanhArgument(x)))
}

// bf16_f32 rounds x to a BF16.
//
//gpu:noinline
func bf16_f32(x float32) float32 { return num.ToBF16(x).Float32() }

// odd_f64 rounds x to odd, so that rounding the result to 16 bits equals rounding x.
//
//gpu:noinline
func odd_f64(x float64) float32 {
	f := gpu.Convert[float32](x, gpu.ToZero)
	if float64(f) == x || x != x {
		return f
	}
	return math.Float32frombits(math.Float32bits(f) | 1)
}

// unary_f64 applies a function of package unary to each element. It calls the functions of package fused, because the
// code of some is long. The time for calls is short beside that for memory.
//
//gpu:kernel block=256
func unary_f64(t gpu.Thread, dst, n, src uint64, f uint32) {
	count := pack.Full[uint64]()
	pack.Each[uint64](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[uint64]
		pack.Load(p, src, count, &x)
		//gpu:unroll 1
		for range count {
			y := compute(f, math.Float64frombits(x[0]))
			x[0], x[1] = x[1], math.Float64bits(y)
		}
		pack.Store(p, dst, count, &x)
	})
}

func compute(f uint32, x float64) float64 {
	switch f {
	case unary.Neg:
		return -x
	case unary.Abs:
		return num.Abs(x)
	case unary.ReLU:
		if x < 0 { // NaN stays NaN
			return 0
		}
		return x
	case unary.Sqrt:
		return num.Sqrt(x)
	case unary.Rsqrt:
		return rsqrt_f64(x)
	case unary.Tanh:
		return tanh_f64(x)
	case unary.Log:
		return log_f64(x)
	case unary.GELU:
		return gelu_f64(x)
	case unary.Exp:
		return exp_f64(x)
	case unary.Sigmoid:
		return sigmoid_f64(x)
	case unary.SiLU:
		return silu_f64(x)
	}
	return gelutanh_f64(x)
}

// others makes the compiler compile the functions that no kernel calls.
//
//gpu:kernel
func others(t gpu.Thread, x []float32, y []float64) {
	x[0] = exp_f32(x[0])
	x[1] = log_f32(x[1])
	x[2] = tanh_f32(x[2])
	x[3] = rsqrt_f32(x[3])
	x[4] = sigmoid_f32(x[4])
	x[5] = silu_f32(x[5])
	x[6] = gelu_f32(x[6])
	x[7] = gelutanh_f32(x[7])
	x[8] = bf16_f32(x[8])
	x[9] = odd_f64(y[9])
}
