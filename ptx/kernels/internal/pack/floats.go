package pack

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// Kind is the type of floats that are computed in float32. A kernel receives it as a parameter, so that
// its code is the same for all kinds. Integers of 32 bits are moved as F32.
type Kind uint32

const (
	F32 Kind = iota
	F16
	BF16
)

// String returns the name of the type in names of kernels.
func (kind Kind) String() string {
	switch kind {
	case F16:
		return "f16"
	case BF16:
		return "bf16"
	}
	return "f32"
}

// log returns the binary logarithm of the size. It has no branch: if it were a constant in kernels for
// 16-bit types, the compiler would unroll the loops over the halves of a pack.
func (kind Kind) log() uint32 { return 2 - (uint32(kind)+1)>>1 }

// EachFloat calls do for the packs of 16 bytes of the calling thread.
func EachFloat(t gpu.Thread, dst, n uint64, kind Kind, do func(Part)) {
	eachPack(t, dst, n, 4-kind.log(), kind.log(), do)
}

// Map lets compute change the elements of w, four at a time. The elements move through w, since
// registers have no index. Code for 8 elements would be twice as long.
func (w *Words) Map(kind Kind, compute func(x *[4]float32)) {
	for range 3 - kind.log() {
		Rolled()
		var x [4]float32
		w.first(kind, &x)
		compute(&x)
		w.append(kind, &x)
	}
}

// Map2 is Map with the elements of another pack, whose first half it removes.
func (w *Words) Map2(kind Kind, other *Words, compute func(x, y *[4]float32)) {
	w.Map(kind, func(x *[4]float32) {
		var y [4]float32
		other.first(kind, &y)
		other[0], other[1] = other[2], other[3]
		compute(x, &y)
	})
}

// first returns the first four elements.
func (w *Words) first(kind Kind, x *[4]float32) {
	switch kind {
	case F32:
		for k := range x {
			x[k] = math.Float32frombits(w[k])
		}
	case F16:
		for k := range x {
			x[k] = num.F16FromBits(w.half(k)).Float32()
		}
	default:
		for k := range x {
			x[k] = num.BF16FromBits(w.half(k)).Float32()
		}
	}
}

func (w *Words) half(k int) uint16 { return uint16(w[k/2] >> (k % 2 * 16)) }

// append removes the first four elements and appends others.
func (w *Words) append(kind Kind, x *[4]float32) {
	var h [4]uint32
	switch kind {
	case F32:
		for k := range x {
			w[k] = math.Float32bits(x[k])
		}
		return
	case F16:
		for k := range x {
			h[k] = uint32(num.ToF16(x[k]).Bits())
		}
	default:
		for k := range x {
			h[k] = uint32(num.ToBF16(x[k]).Bits())
		}
	}
	*w = Words{w[2], w[3], h[1]<<16 | h[0], h[3]<<16 | h[2]}
}

// Float converts one element.
func (kind Kind) Float(bits uint32) float32 {
	switch kind {
	case F32:
		return math.Float32frombits(bits)
	case F16:
		return num.F16FromBits(uint16(bits)).Float32()
	}
	return num.BF16FromBits(uint16(bits)).Float32()
}

// LoadFloats is Load for EachFloat.
func LoadFloats(p Part, src uint64, kind Kind) (w Words) {
	at := src + uint64(p.First<<kind.log())
	if p.Complete && at&15 == 0 {
		return *words(at)
	}
	clamp := func(k int32) int { return int(min(max(k, p.Low), p.High-1)) }
	if kind == F32 {
		v := gpu.ViewAt[uint32](at, 4)
		for k := range w {
			w[k] = v.At(clamp(int32(k)))
		}
		return w
	}
	v := gpu.ViewAt[uint16](at, 8)
	for k := int32(0); k < int32(uint32(16)>>kind.log()); k += 4 {
		Rolled()
		var h [4]uint32
		for i := range h {
			h[i] = uint32(v.At(clamp(k + int32(i))))
		}
		w = Words{w[2], w[3], h[1]<<16 | h[0], h[3]<<16 | h[2]}
	}
	return w
}

// LoadFloatsRepeated is LoadRepeated for EachFloat.
func LoadFloatsRepeated(p Part, src, n, m uint64, kind Kind) (w Words) {
	i := repeated(p, n, m)
	at := src + i<<kind.log()
	if p.Complete && i+uint64(16)>>kind.log() <= m && at&15 == 0 {
		return *words(at)
	}
	next := func(k int32) {
		if k >= p.Low {
			i++
		}
		if i == m {
			i = 0
		}
	}
	if kind == F32 {
		v := gpu.ViewAt[uint32](src, int(m))
		for k := range w {
			w[k] = v.At(int(i))
			next(int32(k))
		}
		return w
	}
	v := gpu.ViewAt[uint16](src, int(m))
	for k := int32(0); k < int32(uint32(16)>>kind.log()); k += 4 {
		Rolled()
		var h [4]uint32
		for j := range h {
			h[j] = uint32(v.At(int(i)))
			next(k + int32(j))
		}
		w = Words{w[2], w[3], h[1]<<16 | h[0], h[3]<<16 | h[2]}
	}
	return w
}

// StoreFloats is Store for EachFloat.
func StoreFloats(p Part, dst uint64, kind Kind, w Words) {
	at := dst + uint64(p.First<<kind.log())
	if p.Complete {
		*words(at) = w
		return
	}
	for k := int32(0); k < p.High; k++ {
		Rolled()
		if k >= p.Low {
			if kind == F32 {
				*Element[uint32](at) = w[0]
			} else {
				*Element[uint16](at) = uint16(w[0])
			}
		}
		at += 1 << kind.log()
		w = w.dropped(kind)
	}
}

// dropped returns w without its first element.
func (w Words) dropped(kind Kind) Words {
	if kind == F32 {
		return Words{w[1], w[2], w[3]}
	}
	return Words{w[1]<<16 | w[0]>>16, w[2]<<16 | w[1]>>16, w[3]<<16 | w[2]>>16, w[3] >> 16}
}
