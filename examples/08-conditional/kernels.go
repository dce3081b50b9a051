package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// odd sets bit to 1 if x is odd, and to 0 otherwise.
//
//gpu:kernel block=1
func odd(t gpu.Thread, bit, x *uint32) { *bit = *x & 1 }

// step computes x = x*factor/divisor + plus and increments the number of steps.
//
//gpu:kernel block=1
func step(t gpu.Thread, x, steps *uint32, factor, divisor, plus uint32) {
	*x = *x*factor/divisor + plus
	*steps++
}

// countdown decrements x. The loop that condition belongs to ends when x is 0.
//
//gpu:kernel block=1
func countdown(t gpu.Thread, x *uint32, condition gpu.Conditional) {
	*x--
	condition.Set(t, *x)
}
