// Package iota contains the kernels of kernels.Iota.
package iota

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The type names that appear in the names of kernels.
type (
	b8  = uint8
	b16 = uint16
	b32 = uint32
	b64 = uint64
)

// ints sets element i to start + i*step. The sign of integers makes no difference, because they wrap.
//
//gpu:kernel block=256 name=iota
//gpu:instance b32 b64
func ints[B pack.Bits](t gpu.Thread, dst, n uint64, start, step B) {
	each := pack.Full[B]()
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		var x pack.Elements[B]
		next := start + B(p.First)*step
		for k := range each {
			x[k] = next
			next += step
		}
		pack.Store(p, dst, each, &x)
	})
}

// small is like ints, for smaller integers.
//
//gpu:kernel block=256 name=iota
//gpu:instance b8 b16
func small[B uint8 | uint16](t gpu.Thread, dst, n uint64, start, step B) {
	pack.Each[B](t, dst, n, pack.Full[B](), func(p pack.Part) {
		var w pack.Words
		next := start + B(p.First)*step
		//gpu:unroll 1
		for range w {
			var bits uint32
			for i := 0; i < 4; i += pack.Size[B]() {
				bits |= uint32(next) << (8 * i)
				next += step
			}
			w = pack.Words{w[1], w[2], w[3], bits}
		}
		pack.StoreWords[B](p, dst, w)
	})
}

// half is for F16 and BF16. of is the pack.Kind.
//
//gpu:kernel block=256 name=iota_half
func half(t gpu.Thread, dst, n uint64, start, step num.F16, of uint32) {
	kind := pack.Kind(of)
	first, distance := float64(kind.Float(start.Bits())), float64(kind.Float(step.Bits()))
	bits := func(i int) uint32 {
		x := math.FMA(float64(i), distance, first)
		if kind == pack.BF16 {
			return uint32(num.BF16FromFloat64(x).Bits())
		}
		return uint32(num.F16FromFloat64(x).Bits())
	}
	pack.Each[uint16](t, dst, n, pack.Full[uint16](), func(p pack.Part) {
		var w pack.Words
		//gpu:unroll 1
		for k := 0; k < pack.Full[uint16](); k += 2 {
			w = pack.Words{w[1], w[2], w[3], bits(p.First+k) | bits(p.First+k+1)<<16}
		}
		pack.StoreWords[uint16](p, dst, w)
	})
}

//gpu:kernel block=256 name=iota_f32
func f32(t gpu.Thread, dst, n uint64, start, step float32) {
	floats(t, dst, n, float64(start), float64(step), func(x float64) uint32 { return math.Float32bits(float32(x)) })
}

//gpu:kernel block=256 name=iota_f64
func f64(t gpu.Thread, dst, n uint64, start, step float64) {
	floats(t, dst, n, start, step, math.Float64bits)
}

// floats sets element i to the bits of start + i*step, which it computes with one rounding.
func floats[B pack.Bits](t gpu.Thread, dst, n uint64, start, step float64, bits func(float64) B) {
	each := pack.Full[B]()
	pack.Each[B](t, dst, n, each, func(p pack.Part) {
		var x pack.Elements[B]
		for k := range each {
			x[k] = bits(math.FMA(float64(p.First+k), step, start))
		}
		pack.Store(p, dst, each, &x)
	})
}
