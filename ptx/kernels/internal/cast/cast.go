// Package cast contains the kernels of kernels.Cast: one for all integers, one for floats of up to 32
// bits, and one for float64. Parameters select the types. Other kernels copy the bits.
package cast

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

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

	float = 8 // a bit of the floats
)

// each is the number of elements that a thread converts at a time.
const each = 4

//gpu:kernel block=256
func from_int(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	cast(t, dst, n, to, from, func(p pack.Part, from uint32) [each]int64 { return ints(p, src, from) })
}

//gpu:kernel block=256
func from_f32(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	cast(t, dst, n, to, from, func(p pack.Part, from uint32) [each]float32 { return floats(p, src, from) })
}

//gpu:kernel block=256
func from_f64(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	cast(t, dst, n, to, from, func(p pack.Part, _ uint32) (v [each]float64) {
		var x pack.Elements[uint64]
		pack.Load(p, src, each, &x)
		for k := range each {
			v[k] = math.Float64frombits(x[k])
		}
		return v
	})
}

// same copies elements of 1 << log bytes. It is for types of the same size whose conversion keeps the bits.
//
//gpu:kernel block=256 name=copy
func same(t gpu.Thread, dst, src, n uint64, log uint32) {
	pack.Each[uint8](t, dst, n<<log, 16, func(p pack.Part) {
		to, from := dst+uint64(p.First), src+uint64(p.First)
		if p.Complete {
			pack.StoreUnit(to, 16, pack.LoadAny(from, log))
			return
		}
		for k, high := p.Range(); k < high; k += 1 << log {
			pack.Rolled()
			switch to, from := to+uint64(k), from+uint64(k); log {
			case 0:
				*pack.Element[uint8](to) = *pack.Element[uint8](from)
			case 1:
				*pack.Element[uint16](to) = *pack.Element[uint16](from)
			case 2:
				*pack.Element[uint32](to) = *pack.Element[uint32](from)
			default:
				*pack.Element[uint64](to) = *pack.Element[uint64](from)
			}
		}
	})
}

type number interface{ int64 | float32 | float64 }

// cast converts the elements that load returns.
func cast[T number](t gpu.Thread, dst, n uint64, to, from uint32, load func(p pack.Part, from uint32) [each]T) {
	pack.EachOf(t, dst, n, each, to&3, func(p pack.Part) {
		to, from := pack.Fresh(to), pack.Fresh(from)
		v := load(p, from)
		if to&3 == U64 {
			var x pack.Elements[uint64]
			wide(&v, to, from, &x)
			pack.Store(p, dst, each, &x)
			return
		}
		var x pack.Elements[uint32]
		narrow(&v, to, from, &x)
		store(p, dst, to&3, &x)
	})
}

// store stores the low 1 << log bytes of each element.
func store(p pack.Part, dst uint64, log uint32, x *pack.Elements[uint32]) {
	if p.Complete {
		switch log {
		case U8:
			stored[uint8](p, dst, x)
		case U16:
			stored[uint16](p, dst, x)
		default:
			pack.Store(p, dst, each, x)
		}
		return
	}
	at := dst + uint64(p.First<<log)
	low, high := p.Range()
	for k := int32(0); k < high; k++ {
		pack.Rolled()
		if k >= low {
			switch log {
			case U8:
				*pack.Element[uint8](at) = uint8(x[0])
			case U16:
				*pack.Element[uint16](at) = uint16(x[0])
			default:
				*pack.Element[uint32](at) = x[0]
			}
		}
		at += 1 << log
		x[0], x[1], x[2] = x[1], x[2], x[3]
	}
}

// stored stores a complete pack.
func stored[B uint8 | uint16](p pack.Part, dst uint64, x *pack.Elements[uint32]) {
	var y pack.Elements[B]
	for k := range each {
		y[k] = B(x[k])
	}
	p.Complete = true
	pack.Store(p, dst, each, &y)
}

// ints loads integers. The bits of a uint64 stay the same.
func ints(p pack.Part, src uint64, from uint32) (v [each]int64) {
	switch from & 3 {
	case U8:
		loaded[uint8](p, src, &v)
	case U16:
		loaded[uint16](p, src, &v)
	case U32:
		loaded[uint32](p, src, &v)
	default:
		loaded[uint64](p, src, &v)
	}
	if from&I8 != 0 {
		unused := 64 - uint32(8)<<(from&3)
		for k := range each {
			v[k] = v[k] << unused >> unused
		}
	}
	return v
}

func loaded[B pack.Bits](p pack.Part, src uint64, v *[each]int64) {
	var x pack.Elements[B]
	pack.Load(p, src, each, &x)
	for k := range each {
		v[k] = int64(x[k])
	}
}

// floats loads floats that float32 can hold.
func floats(p pack.Part, src uint64, from uint32) (v [each]float32) {
	if from == F32 {
		var x pack.Elements[uint32]
		pack.Load(p, src, each, &x)
		for k := range each {
			v[k] = math.Float32frombits(x[k])
		}
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
