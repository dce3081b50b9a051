package pack

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// Kind is the type of floats that are computed in float32. Kernels for types of 16 bits receive it as a
// parameter, so that they share their code.
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

// Short lists the elements of which Words hold a pack of 16 bytes.
type Short interface{ uint16 | uint32 }

// Float converts one number of 16 bits.
func (kind Kind) Float(bits uint16) float32 {
	if kind == BF16 {
		return num.BF16FromBits(bits).Float32()
	}
	return num.F16FromBits(bits).Float32()
}

// Singles returns the elements of a pack of float32.
func (w *Words) Singles() (x [4]float32) {
	for k := range x {
		x[k] = math.Float32frombits(w[k])
	}
	return x
}

// FromSingles returns the pack with elements of type float32.
func FromSingles(x *[4]float32) (w Words) {
	for k := range w {
		w[k] = math.Float32bits(x[k])
	}
	return w
}

// Halves returns the elements of a pack of numbers with 16 bits.
func (w *Words) Halves(kind Kind) (x [8]float32) {
	if kind == BF16 {
		for k := range w {
			x[2*k], x[2*k+1] = math.Float32frombits(w[k]<<16), math.Float32frombits(w[k]&^0xffff)
		}
		return x
	}
	for k := range w {
		x[2*k], x[2*k+1] = num.F16FromBits(uint16(w[k])).Float32(), num.F16FromBits(uint16(w[k]>>16)).Float32()
	}
	return x
}

// FromHalves rounds elements to 16 bits. The middle between two numbers of type BF16 is rounded to the even one
// if even is true, and otherwise to either of them.
func FromHalves(kind Kind, x *[8]float32, even bool) (w Words) {
	if kind == BF16 {
		for k := range w {
			w[k] = gpu.BytePermute(roundBF16(x[2*k], even), roundBF16(x[2*k+1], even), 0x7632)
		}
		return w
	}
	for k := range w {
		w[k] = uint32(num.ToF16(x[2*k]).Bits()) | uint32(num.ToF16(x[2*k+1]).Bits())<<16
	}
	return w
}

// roundBF16 rounds to BF16. The result is in the upper half. A NaN must have the bits of one that arithmetic
// returns, or those of a BF16. On devices before sm_80, num.ToBF16 has more instructions, because it
// accepts every NaN.
func roundBF16(x float32, even bool) uint32 {
	b := uint32(min(int32(math.Float32bits(x)), 0x7fff<<16)) // so that the bits of a NaN do not become a sign
	if even {
		return b + 0x7fff + b>>16&1
	}
	return b + 0x8000
}

// LoadWords is Load for complete packs of 16 bytes.
func LoadWords[B Short](p Part, src uint64) (w Words) {
	at := src + uint64(p.First*Size[B]())
	if p.Complete && at&15 == 0 {
		return *words(at)
	}
	low, high := p.Range()
	if low == high {
		return w
	}
	v := gpu.ViewAt[B](at, Full[B]())
	for k := int32(0); k < int32(Full[B]()); k += 4 {
		Rolled()
		w.append4(func(i int32) uint32 { return uint32(v.At(int(min(max(k+i, low), high-1)))) }, Size[B]())
	}
	return w
}

// append4 removes the first four elements of a size and appends those that at returns.
func (w *Words) append4(at func(i int32) uint32, size int) {
	var h [4]uint32
	for i := range h {
		h[i] = at(int32(i))
	}
	if size == 4 {
		*w = h
	} else {
		*w = Words{w[2], w[3], h[1]<<16 | h[0], h[3]<<16 | h[2]}
	}
}

// LoadWordsRepeated is LoadRepeated for packs of 16 bytes.
func LoadWordsRepeated[B Short](p Part, src, n, m uint64) (w Words) {
	i := repeated(p, n, m)
	at := src + i*uint64(Size[B]())
	if p.Complete && i+uint64(Full[B]()) <= m && at&15 == 0 {
		return *words(at)
	}
	low, high := p.Range()
	if low == high {
		return w
	}
	v := gpu.ViewAt[B](src, int(m))
	for k := int32(0); k < int32(Full[B]()); k += 4 {
		Rolled()
		w.append4(func(j int32) uint32 {
			x := uint32(v.At(int(i)))
			if k+j >= low {
				i++
			}
			if i == m {
				i = 0
			}
			return x
		}, Size[B]())
	}
	return w
}

// StoreWords is Store for packs of 16 bytes.
func StoreWords[B uint8 | Short](p Part, dst uint64, w Words) {
	at := dst + uint64(p.First*Size[B]())
	if p.Complete {
		*words(at) = w
		return
	}
	low, high := p.Range()
	for k := int32(0); k < high; k++ {
		Rolled()
		if k >= low {
			*Element[B](at) = B(w[0])
		}
		at += uint64(Size[B]())
		if Size[B]() == 4 {
			w = Words{w[1], w[2], w[3]}
		} else {
			bits := 8 * Size[B]()
			w = Words{w[1]<<(32-bits) | w[0]>>bits, w[2]<<(32-bits) | w[1]>>bits, w[3]<<(32-bits) | w[2]>>bits, w[3] >> bits}
		}
	}
}
