// Package axpy contains the kernels of kernels.Axpy.
package axpy

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The product of two 16-bit floats is exact in float32.

//gpu:kernel block=256
func axpy_f32(t gpu.Thread, y, n uint64, a float32, x uint64) {
	axpy(t, y, n, a, x, pack.F32)
}

//gpu:kernel block=256
func axpy_half(t gpu.Thread, y, n uint64, a num.F16, x uint64, kind uint32) {
	if kind := pack.Kind(kind); kind != pack.F32 {
		axpy(t, y, n, kind.Float(uint32(a.Bits())), x, kind)
	}
}

//gpu:kernel block=256
func axpy_f64(t gpu.Thread, y, n uint64, a float64, x uint64) {
	each := pack.Full[uint64]()
	pack.Each[uint64](t, y, n, each, func(p pack.Part) {
		var u, v pack.Elements[uint64]
		pack.Load(p, x, each, &u)
		pack.Load(p, y, each, &v)
		for k := range each {
			v[k] = math.Float64bits(num.FMA(a, math.Float64frombits(u[k]), math.Float64frombits(v[k])))
		}
		pack.Store(p, y, each, &v)
	})
}

// axpy adds the multiples of the elements at x to those at y.
func axpy(t gpu.Thread, y, n uint64, a float32, x uint64, kind pack.Kind) {
	pack.EachFloat(t, y, n, kind, func(p pack.Part) {
		u, v := pack.LoadFloats(p, x, kind), pack.LoadFloats(p, y, kind)
		v.Map2(kind, &u, func(y, x *[4]float32) {
			for k := range x {
				y[k] = num.FMA(a, x[k], y[k])
			}
		})
		pack.StoreFloats(p, y, kind, v)
	})
}
