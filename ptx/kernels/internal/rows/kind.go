package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// F32 is float32 for kernels of floats of any type up to 32 bits.
const F32 = BF16 + 1

// log returns the binary logarithm of the size of an element.
func (h Half) log() uint32 { return 1 + uint32(h)/uint32(F32) }

// at returns the element at an address.
func (h Half) at(address uint64) float32 {
	if h == F32 {
		return *value[float32](address)
	}
	return halfOf(h, *value[uint16](address))
}

// set rounds v to an element and stores it at an address.
func (h Half) set(address uint64, v float32) {
	if h == F32 {
		*value[float32](address) = v
	} else {
		*value[uint16](address) = roundTo[uint16](h, v)
	}
}

// sized is a type of which the size is known to the compiler, so that each size has its own code.
type sized struct {
	wide  bool // whether it is F32
	half  Half // of other types
	short bool // whether packs have 8 bytes instead of 16
}

// sized calls a function for the size of the type.
func (h Half) sized(do func(sized)) {
	if h == F32 {
		do(sized{wide: true})
	} else {
		do(sized{half: h})
	}
}

// constant is like sized, but each type has its own code.
func (h Half) constant(do func(sized)) {
	switch h {
	case F32:
		do(sized{wide: true})
	case BF16:
		do(sized{half: BF16})
	default:
		do(sized{half: F16})
	}
}

// floats returns the elements of a pack.
func (s sized) floats(w *pack) [8]float32 {
	if s.wide {
		return floats[float32](0, w)
	}
	return floats[uint16](s.half, w)
}

// packed rounds the elements of a pack: see the function packed.
func (s sized) packed(pairs bool, v *[8]float32) pack {
	if s.wide {
		return packed[float32](0, pairs, v)
	}
	return packed[uint16](s.half, pairs, v)
}

// inPack returns the number of elements of a pack.
func (s sized) inPack() uint32 {
	n := uint32(8)
	if s.wide {
		n /= 2
	}
	if s.short {
		n /= 2
	}
	return n
}

// repeated returns a pack of elements that are equal to the one at an address.
func (h Half) repeated(address uint64) pack {
	if h == F32 {
		return repeatedWord(*value[uint32](address))
	}
	return repeatedWord(uint32(*value[uint16](address)) * 0x10001)
}

// ones returns a pack of elements that are 1.
func (h Half) ones() pack {
	switch h {
	case F32:
		return repeatedWord(math.Float32bits(1))
	case BF16:
		return repeatedWord(0x3f803f80)
	}
	return repeatedWord(0x3c003c00)
}

func repeatedWord(w uint32) pack { return pack{w, w, w, w} }

// An element in shared memory has a place, which counts elements.

func (h Half) shared(t gpu.Thread, place uint32) float32 {
	if h == F32 {
		return gpu.DynamicShared[float32](t)[place]
	}
	return halfOf(h, gpu.DynamicShared[uint16](t)[place])
}

func (h Half) setShared(t gpu.Thread, place uint32, v float32) {
	if h == F32 {
		gpu.DynamicShared[float32](t)[place] = v
	} else {
		gpu.DynamicShared[uint16](t)[place] = roundTo[uint16](h, v)
	}
}
