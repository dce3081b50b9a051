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
		*value[uint16](address) = h.round(v)
	}
}

// elements returns the elements of a pack: first those of the upper halves of words, and then those of the lower halves.
// The first four are also those of float32, whose others have no meaning. In this order, float32 and bfloat16 differ only
// in a mask. ptxas removes what is computed from elements without a meaning, if nothing uses that.
func (h Half) elements(w *pack) eight {
	if h == F16 {
		return ofF16(w)
	}
	return h.ofWide(w)
}

// elementsOfThree returns the elements of three packs.
func (h Half) elementsOfThree(u, v, w *pack) (_, _, _ eight) {
	if h == F16 { // one branch for all
		return ofF16(u), ofF16(v), ofF16(w)
	}
	return h.ofWide(u), h.ofWide(v), h.ofWide(w)
}

// ofF16 is elements for float16.
func ofF16(w *pack) (v eight) {
	for i, u := range w {
		v[i], v[i+4] = halfOf(F16, uint16(u>>16)), halfOf(F16, uint16(u))
	}
	return v
}

// ofWide is elements for float32 and bfloat16, which have the same exponent.
func (h Half) ofWide(w *pack) (v eight) {
	mask := uint32(0xffff0000)
	if h == F32 {
		mask = 0xffffffff
	}
	for i, u := range w {
		v[i], v[i+4] = math.Float32frombits(u&mask), math.Float32frombits(u<<16)
	}
	return v
}

// packed rounds elements to a pack. It is the opposite of elements. With pairs, it uses the instructions for two numbers
// of 16 bits, which require sm_80.
func (h Half) packed(pairs bool, v *eight) (w pack) {
	switch {
	case h == F32:
		for i := range w {
			w[i] = math.Float32bits(v[i])
		}
	case pairs:
		return h.halves(&eight{v[4], v[0], v[5], v[1], v[6], v[2], v[7], v[3]})
	case h == BF16: // in a loop, because rounding takes several instructions
		x := *v
		//gpu:unroll 1
		for range uint32(len(w)) {
			w = pack{w[1], w[2], w[3], uint32(BF16.round(x[4])) | uint32(BF16.round(x[0]))<<16}
			x = eight{x[1], x[2], x[3], x[3], x[5], x[6], x[7], x[7]}
		}
	default:
		for i := range w {
			w[i] = uint32(F16.round(v[i+4])) | uint32(F16.round(v[i]))<<16
		}
	}
	return w
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
