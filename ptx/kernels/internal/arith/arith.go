// Package arith contains the kernels of arithmetic on two arrays, or on an array and a number. Each
// kernel has a parameter that selects the operation and, between types of the same size, the type.
package arith

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The operations. They can be combined with Swapped and Second.
const (
	Add = iota
	Sub
	Mul
	Div
	Max
	Min

	Swapped = 8  // of a number and an array: the number is the first operand
	Second  = 16 // unsigned integers instead of signed ones, and BF16 instead of F16
)

//gpu:kernel block=256
func binary_w32(t gpu.Thread, dst, n, a, b, m uint64, op uint32) {
	binary(t, dst, n, a, b, m, op, ints[uint32, int32])
}

//gpu:kernel block=256
func binary_w64(t gpu.Thread, dst, n, a, b, m uint64, op uint32) {
	binary(t, dst, n, a, b, m, op, ints[uint64, int64])
}

//gpu:kernel block=256
func binary_half(t gpu.Thread, dst, n, a, b, m uint64, op uint32) {
	binary(t, dst, n, a, b, m, op, halves)
}

//gpu:kernel block=256
func binary_f32(t gpu.Thread, dst, n, a, b, m uint64, op uint32) {
	binary(t, dst, n, a, b, m, op, singles)
}

//gpu:kernel block=256
func binary_f64(t gpu.Thread, dst, n, a, b, m uint64, op uint32) {
	binary(t, dst, n, a, b, m, op, doubles)
}

//gpu:kernel block=256
func scalar_w32(t gpu.Thread, dst, n, a uint64, b uint32, op uint32) {
	scalar(t, dst, n, a, b, op, ints[uint32, int32])
}

//gpu:kernel block=256
func scalar_w64(t gpu.Thread, dst, n, a, b uint64, op uint32) {
	scalar(t, dst, n, a, b, op, ints[uint64, int64])
}

//gpu:kernel block=256
func scalar_half(t gpu.Thread, dst, n, a uint64, b num.F16, op uint32) {
	scalar(t, dst, n, a, b.Bits(), op, halves)
}

//gpu:kernel block=256
func scalar_f32(t gpu.Thread, dst, n, a uint64, b float32, op uint32) {
	scalar(t, dst, n, a, math.Float32bits(b), op, singles)
}

//gpu:kernel block=256
func scalar_f64(t gpu.Thread, dst, n, a uint64, b float64, op uint32) {
	scalar(t, dst, n, a, math.Float64bits(b), op, doubles)
}

// binary sets each element of dst to the result of compute for the elements of a and b. The array at
// b has m elements and is repeated.
func binary[B pack.Bits](t gpu.Thread, dst, n, a, b, m uint64, op uint32, compute func(op uint32, x, y *pack.Elements[B])) {
	each := pack.Full[B]()
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		var x, y pack.Elements[B]
		pack.Load(p, a, each, &x)
		pack.LoadRepeated(p, b, n, m, each, &y)
		compute(op, &x, &y)
		pack.Store(p, dst, each, &x)
	})
}

// scalar is like binary, for a number instead of the second array.
func scalar[B pack.Bits](t gpu.Thread, dst, n, a uint64, b B, op uint32, compute func(op uint32, x, y *pack.Elements[B])) {
	each := pack.Full[B]()
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		var x, y pack.Elements[B]
		pack.Load(p, a, each, &x)
		for k := range each {
			y[k] = b
		}
		if op&Swapped != 0 {
			x, y = y, x
		}
		compute(op, &x, &y)
		pack.Store(p, dst, each, &x)
	})
}

// ints computes with integers. A division by 0 returns 0.
func ints[B uint32 | uint64, S int32 | int64](op uint32, x, y *pack.Elements[B]) {
	each := pack.Full[B]()
	switch op &^ Swapped {
	case Add, Add | Second:
		for k := range each {
			x[k] += y[k]
		}
	case Sub, Sub | Second:
		for k := range each {
			x[k] -= y[k]
		}
	case Mul, Mul | Second:
		for k := range each {
			x[k] *= y[k]
		}
	case Div:
		for k := range each {
			x[k] = B(quotient(S(x[k]), S(y[k])))
		}
	case Div | Second:
		for k := range each {
			x[k] = quotient(x[k], y[k])
		}
	case Max:
		for k := range each {
			x[k] = B(max(S(x[k]), S(y[k])))
		}
	case Max | Second:
		for k := range each {
			x[k] = max(x[k], y[k])
		}
	case Min:
		for k := range each {
			x[k] = B(min(S(x[k]), S(y[k])))
		}
	case Min | Second:
		for k := range each {
			x[k] = min(x[k], y[k])
		}
	}
}

func quotient[T int32 | int64 | uint32 | uint64](a, b T) T {
	if b != 0 {
		return a / b
	}
	return 0
}

func singles(op uint32, x, y *pack.Elements[uint32]) {
	var a, b [4]float32
	for k := range a {
		a[k], b[k] = math.Float32frombits(x[k]), math.Float32frombits(y[k])
	}
	floats(op, a[:], b[:])
	for k := range a {
		x[k] = math.Float32bits(a[k])
	}
}

func doubles(op uint32, x, y *pack.Elements[uint64]) {
	var a, b [2]float64
	for k := range a {
		a[k], b[k] = math.Float64frombits(x[k]), math.Float64frombits(y[k])
	}
	floats(op, a[:], b[:])
	for k := range a {
		x[k] = math.Float64bits(a[k])
	}
}

// halves computes in float32 and rounds the results.
func halves(op uint32, x, y *pack.Elements[uint16]) {
	var a, b [8]float32
	pack.FromHalf(op&Second != 0, x, &a)
	pack.FromHalf(op&Second != 0, y, &b)
	floats(op, a[:], b[:])
	pack.ToHalf(op&Second != 0, &a, x)
}

func floats[T float32 | float64](op uint32, x, y []T) {
	switch op &^ (Swapped | Second) {
	case Add:
		for k := range x {
			x[k] += y[k]
		}
	case Sub:
		for k := range x {
			x[k] -= y[k]
		}
	case Mul:
		for k := range x {
			x[k] *= y[k]
		}
	case Div:
		for k := range x {
			x[k] /= y[k]
		}
	case Max:
		for k := range x {
			x[k] = num.Max(x[k], y[k])
		}
	case Min:
		for k := range x {
			x[k] = num.Min(x[k], y[k])
		}
	}
}
