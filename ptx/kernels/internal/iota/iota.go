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
//gpu:instance b8 b16 b32 b64
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

//gpu:kernel block=256 name=iota_f16
func f16(t gpu.Thread, dst, n uint64, start, step num.F16) {
	floats(t, dst, n, start.Float64(), step.Float64(), func(x float64) uint16 { return num.F16FromFloat64(x).Bits() })
}

//gpu:kernel block=256 name=iota_bf16
func bf16(t gpu.Thread, dst, n uint64, start, step num.BF16) {
	floats(t, dst, n, start.Float64(), step.Float64(), func(x float64) uint16 { return num.BF16FromFloat64(x).Bits() })
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
