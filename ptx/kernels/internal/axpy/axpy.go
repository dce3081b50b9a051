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
	pack.Each[uint32](t, y, n, pack.Full[uint32](), func(p pack.Part) {
		u, v := pack.LoadWords[uint32](p, x), pack.LoadWords[uint32](p, y)
		from, to := u.Singles(), v.Singles()
		axpy(a, from[:], to[:])
		pack.StoreWords[uint32](p, y, pack.FromSingles(&to))
	})
}

//gpu:kernel block=256
func axpy_half(t gpu.Thread, y, n uint64, a num.F16, x uint64, kind uint32) {
	of := pack.Kind(kind)
	number := of.Float(a.Bits())
	pack.Each[uint16](t, y, n, pack.Full[uint16](), func(p pack.Part) {
		u, v := pack.LoadWords[uint16](p, x), pack.LoadWords[uint16](p, y)
		from, to := u.Halves(of), v.Halves(of)
		axpy(number, from[:], to[:])
		pack.StoreWords[uint16](p, y, pack.FromHalves(of, &to, true))
	})
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

// axpy adds multiples of the numbers x to the numbers y.
func axpy(a float32, x, y []float32) {
	for k := range x {
		y[k] = num.FMA(a, x[k], y[k])
	}
}
