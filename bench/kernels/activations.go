package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// GELU computes x·Φ(x) with the approximation that uses tanh.
//
//gpu:kernel block=256 restrict=out,x
func GELU(t gpu.Thread, out, x []float32) {
	const scale = 0.7978845608028654 // √(2/π)
	if i := t.GlobalX(); i < len(x) && i < len(out) {
		v := x[i]
		cube := 0.044715 * v * v * v
		out[i] = 0.5 * v * (1 + math32.Tanh(scale*(v+cube)))
	}
}

// SwiGLU computes silu(x)·y.
//
//gpu:kernel block=256 restrict=out,x,y
func SwiGLU(t gpu.Thread, out, x, y []float32) {
	if i := t.GlobalX(); i < len(x) && i < len(y) && i < len(out) {
		v := x[i]
		out[i] = v / (1 + math32.Exp(-v)) * y[i]
	}
}
