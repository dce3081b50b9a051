// Package axpy contains the kernels of kernels.Axpy.
package axpy

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// axpy_half is for F16 and, if bf16 is not 0, for BF16. The product of two of them is exact in float32.
//
//gpu:kernel block=256
func axpy_half(t gpu.Thread, y, n uint64, a num.F16, x uint64, bf16 uint32) {
	number := pack.HalfOf(bf16 != 0, a.Bits())
	axpy(t, y, n, x, func(x, y *pack.Elements[uint16]) {
		var u, v [8]float32
		pack.FromHalf(bf16 != 0, x, &u)
		pack.FromHalf(bf16 != 0, y, &v)
		for k := range v {
			v[k] = num.FMA(number, u[k], v[k])
		}
		pack.ToHalf(bf16 != 0, &v, y)
	})
}

//gpu:kernel block=256
func axpy_f32(t gpu.Thread, y, n uint64, a float32, x uint64) {
	axpy(t, y, n, x, func(x, y *pack.Elements[uint32]) {
		for k := range pack.Full[uint32]() {
			y[k] = math.Float32bits(num.FMA(a, math.Float32frombits(x[k]), math.Float32frombits(y[k])))
		}
	})
}

//gpu:kernel block=256
func axpy_f64(t gpu.Thread, y, n uint64, a float64, x uint64) {
	axpy(t, y, n, x, func(x, y *pack.Elements[uint64]) {
		for k := range pack.Full[uint64]() {
			y[k] = math.Float64bits(num.FMA(a, math.Float64frombits(x[k]), math.Float64frombits(y[k])))
		}
	})
}

// axpy adds the multiples of the elements at x to those at y.
func axpy[B pack.Bits](t gpu.Thread, dst, n, src uint64, add func(x, y *pack.Elements[B])) {
	each := pack.Full[B]()
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		var x, y pack.Elements[B]
		pack.Load(p, src, each, &x)
		pack.Load(p, dst, each, &y)
		add(&x, &y)
		pack.Store(p, dst, each, &y)
	})
}
