// Package library contains the functions that package fused calls in its kernels. The one kernel only
// makes the compiler compile them.
package library

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
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
func sigmoid_f64(x float64) float64 { return functions.Sigmoid(x) }

//gpu:noinline
func silu_f32(x float32) float32 { return functions.SiLU(x) }

//gpu:noinline
func silu_f64(x float64) float64 { return functions.SiLU(x) }

//gpu:noinline
func gelu_f32(x float32) float32 { return functions.GELU(x) }

//gpu:noinline
func gelu_f64(x float64) float64 { return functions.GELU(x) }

//gpu:noinline
func gelutanh_f32(x float32) float32 { return functions.GELUTanh(x) }

//gpu:noinline
func gelutanh_f64(x float64) float64 { return functions.GELUTanh(x) }

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

//gpu:kernel
func all(t gpu.Thread, x []float32, y []float64) {
	x[8], x[9] = bf16_f32(x[8]), odd_f64(y[9])
	x[0], y[0] = exp_f32(x[0]), exp_f64(y[0])
	x[1], y[1] = log_f32(x[1]), log_f64(y[1])
	x[2], y[2] = tanh_f32(x[2]), tanh_f64(y[2])
	x[3], y[3] = rsqrt_f32(x[3]), rsqrt_f64(y[3])
	x[4], y[4] = sigmoid_f32(x[4]), sigmoid_f64(y[4])
	x[5], y[5] = silu_f32(x[5]), silu_f64(y[5])
	x[6], y[6] = gelu_f32(x[6]), gelu_f64(y[6])
	x[7], y[7] = gelutanh_f32(x[7]), gelutanh_f64(y[7])
}
