package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// The constants of the linear congruential generator that each round applies.
const (
	multiplier = 1664525
	increment  = 1013904223
)

// step applies a number of rounds to each element.
//
//gpu:kernel block=128
func step(t gpu.Thread, out, in []uint32, rounds uint32) {
	i := t.GlobalX()
	if i >= len(out) {
		return
	}
	v := in[i]
	for range rounds {
		v = v*multiplier + increment
	}
	out[i] = v
}
