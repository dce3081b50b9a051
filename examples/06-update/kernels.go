package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// affine computes x = a*x + b for each element.
//
//gpu:kernel block=128
func affine(t gpu.Thread, x []float32, a, b float32) {
	if i := t.GlobalX(); i < len(x) {
		x[i] = a*x[i] + b
	}
}
