package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// add computes c = a + b, with one thread for each element.
//
//gpu:kernel block=256
func add(t gpu.Thread, c, a, b []float32) {
	if i := t.GlobalX(); i < len(c) {
		c[i] = a[i] + b[i]
	}
}
