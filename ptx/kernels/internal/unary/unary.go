// Package unary contains the kernels that apply a function to each element: one for float32, and one for F16 and BF16,
// which are computed in float32 and rounded. A parameter selects the function and the type. The kernel for float64 is in
// package library.
package unary

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/functions"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The functions.
const (
	Neg = iota
	Abs
	ReLU
	Sqrt
	Rsqrt
	Tanh
	Log
	GELU
	Exp
	Sigmoid
	SiLU
	GELUTanh
)

// Of returns the part of a function's number that selects the type of floats.
func Of(kind pack.Kind) uint32 { return uint32(kind) << 4 }

//gpu:kernel block=256 minblocks=8
func unary_f32(t gpu.Thread, dst, n, src uint64, f uint32) {
	pack.Each[uint32](t, dst, n, pack.Full[uint32](), func(p pack.Part) {
		w := pack.LoadWords[uint32](p, src)
		x := w.Singles()
		// Two at a time: the code is half as long, and other threads keep the multiprocessor busy.
		//gpu:unroll 1
		for range 2 {
			y := [2]float32{x[0], x[1]}
			compute(pack.Fresh(f), y[:])
			x = [4]float32{x[2], x[3], y[0], y[1]}
		}
		pack.StoreWords[uint32](p, dst, pack.FromSingles(&x))
	})
}

//gpu:kernel block=256 minblocks=8
func unary_half(t gpu.Thread, dst, n, src uint64, f uint32) {
	pack.Each[uint16](t, dst, n, pack.Full[uint16](), func(p pack.Part) {
		w := pack.LoadWords[uint16](p, src)
		f := pack.Fresh(f)
		kind := pack.Kind(f >> 4)
		x := w.Halves(kind)
		if f&15 == GELU { // has so many instructions that those of a loop matter
			each(functions.HalfGELU, x[:])
		} else {
			//gpu:unroll 1
			for range 2 {
				y := [4]float32(x[:4])
				halves(pack.Fresh(f), &y)
				x = [8]float32{x[4], x[5], x[6], x[7], y[0], y[1], y[2], y[3]}
			}
		}
		pack.StoreWords[uint16](p, dst, pack.FromHalves(kind, &x, false))
	})
}

// each applies a function to each element.
func each[T functions.Float](f func(T) T, x []T) {
	for k := range x {
		x[k] = f(x[k])
	}
}

// compute applies function f. The bits of its number are tested one by one, because comparisons with all
// numbers would take more registers and time.
func compute[T functions.Float](f uint32, x []T) {
	switch {
	case f&8 != 0:
		sigmoid(f, x)
	case f&4 != 0:
		switch {
		case f&2 != 0 && f&1 != 0:
			each(functions.GELU[T], x)
		case f&2 != 0:
			each(functions.Log[T], x)
		case f&1 != 0:
			each(functions.Tanh[T], x)
		default:
			each(functions.Rsqrt[T], x)
		}
	default:
		simple(f, x)
	}
}

// simple computes Neg, Abs, ReLU and Sqrt.
func simple[T functions.Float](f uint32, x []T) {
	switch {
	case f&2 != 0 && f&1 != 0:
		each(num.Sqrt[T], x)
	case f&2 != 0: // NaN stays NaN
		for k := range x {
			if x[k] < 0 {
				x[k] = 0
			}
		}
	case f&1 != 0:
		each(num.Abs[T], x)
	default:
		for k := range x {
			x[k] = -x[k]
		}
	}
}

// sigmoid computes the functions of the form x / (1 + exp(u)), and Exp.
func sigmoid[T functions.Float](f uint32, x []T) {
	var u [4]T
	switch {
	case f&3 == GELUTanh&3:
		for k, v := range x {
			u[k] = functions.GELUTanhArgument(v)
		}
	case f&3 != 0:
		for k := range x {
			u[k] = -x[k]
		}
	default:
		//lint:ignore S1001 The compiler unrolls a loop, but not a copy of a length that it does not know yet.
		for k := range x {
			u[k] = x[k]
		}
	}
	for k := range x {
		u[k] = functions.Exp(u[k])
	}
	if f&3 == 0 {
		for k := range x {
			x[k] = u[k]
		}
		return
	}
	if f&2 == 0 {
		for k := range x {
			x[k] = 1
		}
	}
	for k := range x {
		x[k] = functions.Quotient(x[k], u[k])
	}
}
