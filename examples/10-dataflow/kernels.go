package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// scale computes to = from * factor for each element.
//
//gpu:kernel block=128
func scale(t gpu.Thread, to, from []float32, factor float32) {
	if i := t.GlobalX(); i < len(to) {
		to[i] = from[i] * factor
	}
}

// add adds x to sum.
//
//gpu:kernel block=128
func add(t gpu.Thread, sum, x []float32) {
	if i := t.GlobalX(); i < len(sum) {
		sum[i] += x[i]
	}
}
