package rows

import (
	"math"
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
	wide bool // whether it is F32
	half Half // of other types
	any  bool // whether the size is not known after all: half may be F32, and two is for the elements
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

// Kernels for old devices visit two elements of a pack at a time, and have the same code for all types.

// twos returns the number of pairs of elements of a pack.
func (s sized) twos() uint32 { return 8 >> s.half.log() }

// two returns the first two elements of a pack and removes them.
func (s sized) two(w *pack) (x, y float32) {
	if s.half == F32 {
		x, y = math.Float32frombits(w[0]), math.Float32frombits(w[1])
		*w = pack{w[2], w[3]}
		return x, y
	}
	x, y = halfOf(s.half, uint16(w[0])), halfOf(s.half, uint16(w[0]>>16))
	*w = pack{w[1], w[2], w[3]}
	return x, y
}

// addTwo rounds two elements and adds them to the end of a pack.
func (s sized) addTwo(w *pack, x, y float32) {
	if s.half == F32 {
		*w = pack{w[2], w[3], math.Float32bits(x), math.Float32bits(y)}
		return
	}
	*w = pack{w[1], w[2], w[3], uint32(roundTo[uint16](s.half, x)) | uint32(roundTo[uint16](s.half, y))<<16}
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
