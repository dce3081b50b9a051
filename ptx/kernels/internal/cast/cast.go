// Package cast contains the kernels of kernels.Cast: one that converts, whose parameters select the types, and one that
// copies the bits.
package cast

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
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

// each is the number of elements that a thread converts at a time. If the results have 64 bits, it is eachWide: a thread
// stores one vector of 16 bytes, so that a warp stores whole sectors at once.
const (
	each     = 4
	eachWide = 2
)

//gpu:kernel block=256
func cast(t gpu.Thread, dst, src, n uint64, to, from uint32) {
	pack.EachOf(t, dst, n, Each(to), to&3, func(p pack.Part) {
		to, from := pack.Fresh(to), pack.Fresh(from)
		x := load(p, src, from&3, Each(to))
		convert(&x, to, from)
		store(p, dst, to&3, &x)
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

// bits holds the bits of numbers. Those above the size of their type are not defined.
type bits [each]uint64

// Each returns the number of elements that a thread converts at a time to a type.
func Each(to uint32) int {
	if to&3 == U64 {
		return eachWide
	}
	return each
}

// load loads n elements of 1 << log bytes. The bits above are 0. Elements outside of the array get values of others.
func load(p pack.Part, src uint64, log uint32, n int) (x bits) {
	at := src + uint64(p.First<<log)
	if p.Complete && uint32(at)&(uint32(n)<<log-1)&15 == 0 {
		if n == each {
			loadPack(at, log, each, &x)
		} else {
			loadPack(at, log, eachWide, &x)
		}
		return x
	}
	low, high := p.Range()
	if low == high {
		return x
	}
	//gpu:unroll 1
	for k := int32(0); k < int32(n); k++ {
		at := at + uint64(min(max(k, low), high-1))<<log
		var v uint64
		switch log {
		case U8:
			v = uint64(*pack.Element[uint8](at))
		case U16:
			v = uint64(*pack.Element[uint16](at))
		case U32:
			v = uint64(*pack.Element[uint32](at))
		default:
			v = *pack.Element[uint64](at)
		}
		x = bits{x[1], x[2], x[3], v}
	}
	if n != each {
		x[0], x[1] = x[2], x[3]
	}
	return x
}

// loadPack loads n elements from an address that is a multiple of their size, or of 16 bytes if they have more.
func loadPack(at uint64, log uint32, n int, x *bits) {
	switch log {
	case U32:
		loaded[uint32](at, n, x)
	case U16:
		loaded[uint16](at, n, x)
	case U8:
		loaded[uint8](at, n, x)
	default:
		loaded[uint64](at, n, x)
	}
}

func loaded[B pack.Bits](at uint64, n int, x *bits) {
	var y pack.Elements[B]
	pack.LoadVector(at, n, &y)
	for k := range n {
		x[k] = uint64(y[k])
	}
}

// store stores the low 1 << log bytes of each element.
func store(p pack.Part, dst uint64, log uint32, x *bits) {
	at := dst + uint64(p.First<<log)
	if p.Complete {
		switch log {
		case U32:
			stored[uint32](at, each, x)
		case U16:
			stored[uint16](at, each, x)
		case U8:
			stored[uint8](at, each, x)
		default:
			stored[uint64](at, eachWide, x)
		}
		return
	}
	low, high := p.Range()
	for k := int32(0); k < high; k++ {
		pack.Rolled()
		if k >= low {
			switch log {
			case U8:
				*pack.Element[uint8](at) = uint8(x[0])
			case U16:
				*pack.Element[uint16](at) = uint16(x[0])
			case U32:
				*pack.Element[uint32](at) = uint32(x[0])
			default:
				*pack.Element[uint64](at) = x[0]
			}
		}
		at += 1 << log
		x[0], x[1], x[2] = x[1], x[2], x[3]
	}
}

func stored[B pack.Bits](at uint64, n int, x *bits) {
	var y pack.Elements[B]
	for k := range n {
		y[k] = B(x[k])
	}
	pack.StoreVector(at, n, &y)
}
