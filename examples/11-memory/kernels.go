package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// scale multiplies each element of x by factor.
//
//gpu:kernel block=128
func scale(t gpu.Thread, x []float32, factor float32) {
	if i := t.GlobalX(); i < len(x) {
		x[i] *= factor
	}
}

// add computes sum = a + b for each element.
//
//gpu:kernel block=128
func add(t gpu.Thread, sum, a, b []float32) {
	if i := t.GlobalX(); i < len(sum) {
		sum[i] = a[i] + b[i]
	}
}
