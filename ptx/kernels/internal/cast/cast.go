// Package cast contains the kernels of kernels.Cast. Each kernel converts from the types that a type
// with arithmetic contains: for example, the kernel from_f32 from F16, BF16 and float32. Parameters
// select the types.
package cast

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The types. The lowest two bits are the binary logarithm of the size.
const (
	U8   = 0
	U16  = 1
	U32  = 2
	U64  = 3
	I8   = 4 | U8
	I16  = 4 | U16
	I32  = 4 | U32
	I64  = 4 | U64
	F16  = 8 | U16
	F32  = 8 | U32
	F64  = 8 | U64
	BF16 = 12 | U16
)

// each is the number of elements that a thread converts at a time.
const each = 4

//gpu:kernel block=256
func from_i32(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	cast(t, dst, n, to, func(p pack.Part) [each]int32 { return ints(p, src, from) })
}

//gpu:kernel block=256
func from_u32(t gpu.Thread, dst, src, n uint64, to uint32) {
	cast(t, dst, n, to, func(p pack.Part) (v [each]uint32) {
		words(p, src, func(k int, x uint32) { v[k] = x })
		return v
	})
}

//gpu:kernel block=256
func from_i64(t gpu.Thread, dst, src, n uint64, to uint32) {
	cast(t, dst, n, to, func(p pack.Part) (v [each]int64) {
		longs(p, src, func(k int, x uint64) { v[k] = int64(x) })
		return v
	})
}

//gpu:kernel block=256
func from_u64(t gpu.Thread, dst, src, n uint64, to uint32) {
	cast(t, dst, n, to, func(p pack.Part) (v [each]uint64) {
		longs(p, src, func(k int, x uint64) { v[k] = x })
		return v
	})
}

//gpu:kernel block=256
func from_f32(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	cast(t, dst, n, to, func(p pack.Part) [each]float32 { return floats(p, src, from) })
}

//gpu:kernel block=256
func from_f64(t gpu.Thread, dst, src, n uint64, to uint32) {
	cast(t, dst, n, to, func(p pack.Part) (v [each]float64) {
		longs(p, src, func(k int, x uint64) { v[k] = math.Float64frombits(x) })
		return v
	})
}

// The names of types in the names of kernels.
type (
	b8  = uint8
	b16 = uint16
	b32 = uint32
	b64 = uint64
)

// copy is for types of the same size whose conversion keeps the bits.
//
//gpu:kernel block=256 name=copy
//gpu:instance b8 b16 b32 b64
func same[B pack.Bits](t gpu.Thread, dst, src, n uint64) {
	count := pack.Full[B]()
	pack.Each[B](t, dst, n, count, func(p pack.Part) {
		var x pack.Elements[B]
		pack.Load(p, src, count, &x)
		pack.Store(p, dst, count, &x)
	})
}

type number interface {
	int32 | uint32 | int64 | uint64 | float32 | float64
}

// cast converts the elements that load returns.
func cast[T number](t gpu.Thread, dst, n uint64, to uint32, load func(pack.Part) [each]T) {
	pack.EachOf(t, dst, n, each, int(to&3), func(p pack.Part) {
		v := load(p)
		var x pack.Elements[uint32]
		if to&3 == U64 {
			var x pack.Elements[uint64]
			wide(&v, to, &x)
			pack.Store(p, dst, each, &x)
			return
		}
		narrow(&v, to, &x)
		switch to & 3 {
		case U8:
			stored[uint8](p, dst, &x)
		case U16:
			stored[uint16](p, dst, &x)
		default:
			pack.Store(p, dst, each, &x)
		}
	})
}

func stored[B uint8 | uint16](p pack.Part, dst uint64, x *pack.Elements[uint32]) {
	var y pack.Elements[B]
	for k := range each {
		y[k] = B(x[k])
	}
	pack.Store(p, dst, each, &y)
}

func words(p pack.Part, src uint64, do func(k int, x uint32)) {
	var x pack.Elements[uint32]
	pack.Load(p, src, each, &x)
	for k := range each {
		do(k, x[k])
	}
}

func longs(p pack.Part, src uint64, do func(k int, x uint64)) {
	var x pack.Elements[uint64]
	pack.Load(p, src, each, &x)
	for k := range each {
		do(k, x[k])
	}
}

// ints loads integers that int32 can hold.
func ints(p pack.Part, src uint64, from uint32) (v [each]int32) {
	switch from & 3 {
	case U8:
		var x pack.Elements[uint8]
		pack.Load(p, src, each, &x)
		for k := range each {
			v[k] = int32(x[k])
		}
	case U16:
		var x pack.Elements[uint16]
		pack.Load(p, src, each, &x)
		for k := range each {
			v[k] = int32(x[k])
		}
	default:
		words(p, src, func(k int, x uint32) { v[k] = int32(x) })
	}
	if from&I8 != 0 {
		unused := 32 - uint32(8)<<(from&3)
		for k := range each {
			v[k] = v[k] << unused >> unused
		}
	}
	return v
}

// floats loads floats that float32 can hold.
func floats(p pack.Part, src uint64, from uint32) (v [each]float32) {
	if from == F32 {
		words(p, src, func(k int, x uint32) { v[k] = math.Float32frombits(x) })
		return v
	}
	var x pack.Elements[uint16]
	pack.Load(p, src, each, &x)
	for k := range each {
		v[k] = num.F16FromBits(x[k]).Float32()
	}
	if from == BF16 {
		for k := range each {
			v[k] = num.BF16FromBits(x[k]).Float32()
		}
	}
	return v
}
