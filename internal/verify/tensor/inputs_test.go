package tensor_test

import (
	"hash/fnv"
	"math/rand/v2"
)

// The inputs of the tensor core forms are random numbers. The blocks use several modes, each of
// which shows a different aspect of how sums are rounded.

const (
	modeNear      = iota // magnitudes near 1
	modeSpread           // magnitudes over eight powers of two
	modeWide             // all finite bit patterns
	modeSparse           // three of four elements are zero
	modeShort            // few significand bits, so that sums are exact
	modeSubnormal        // elements of A that are subnormal or nearly so
	modeTiny             // products too small for the result
	modeLarge            // products and sums overflow
	modeSpecial          // infinities and NaNs among the numbers
	modeAbove            // C is larger than the products
	modeBelow            // C is smaller than the products
	modeSingle           // most elements of A are zero, and the others have widely spread magnitudes
	modes
)

// floatLayout maps each type to its numbers of exponent and significand bits.
var floatLayout = map[string][2]uint{
	"f16": {5, 10}, "bf16": {8, 7}, "tf32": {8, 23}, "f32": {8, 23}, "f64": {11, 52}, "e4m3": {4, 3}, "e5m2": {5, 2},
}

// tensorInputs returns the input for operand o (1 for a, 2 for b, 3 for c) of every block.
func (f *tensorForm) tensorInputs(o int) []uint32 {
	h := fnv.New64a()
	h.Write([]byte(f.name))
	all := make([]uint32, 0, f.cases*f.words[o])
	bits := elementBits[f.types[o]]
	for c := range f.cases {
		r := rand.New(rand.NewPCG(h.Sum64(), uint64(4*c+o)))
		mode := c % modes
		var word uint64
		filled := 0
		for e := range f.words[o] * 32 / bits {
			v := inputSequence(e, bits, c)
			if !f.sequential {
				v = draw(r, f.types[o], o, mode, c/modes)
			}
			word |= v << filled
			if filled += bits; filled >= 32 {
				for ; filled > 0; filled -= 32 {
					all = append(all, uint32(word))
					word >>= 32
				}
				word = 0
			}
		}
		if f.metadata && o == 1 {
			for i := len(all) - 32; i < len(all); i++ {
				all[i] = drawMetadata(r, f.types[1])
			}
		}
	}
	return all
}

// inputSequence returns digit c of number e in base 2^bits.
func inputSequence(e, bits, c int) uint64 { return uint64(e) >> (bits * c) & (1<<min(bits, 63) - 1) }

func draw(r *rand.Rand, typ string, o, mode, round int) uint64 {
	if l, ok := floatLayout[typ]; ok {
		return drawFloat(r, typ, l[0], l[1], o, mode, round)
	}
	bits := elementBits[typ]
	v := r.Uint64() >> (64 - bits)
	if typ == "s32" && mode%2 == 1 { // close to where sums overflow
		v = uint64(uint32(int32(0x7fffffff)-int32(r.IntN(1000))) ^ uint32(0-r.IntN(2)))
	}
	if mode == 2 && typ != "s32" { // all elements are the same
		v = 1<<(bits-1) - uint64(r.IntN(2))
	}
	return v
}

func drawFloat(r *rand.Rand, typ string, exp, mant uint, o, mode, round int) uint64 {
	bias := 1<<(exp-1) - 1
	top := 1<<exp - 2
	e := bias + r.IntN(3) - 2
	m := r.Uint64() >> (64 - mant)
	sign := r.Uint64() >> 63
	zero := r.IntN(40) == 0
	switch mode {
	case modeSpread:
		e = bias + r.IntN(9) - 4
	case modeWide:
		e = r.IntN(top + 1)
	case modeSparse:
		zero = r.IntN(4) != 0
	case modeShort:
		m = m >> (mant - 1) << (mant - 1)
	case modeSubnormal:
		if o == 1 {
			e = r.IntN(3)
		} else if o == 3 {
			e = max(bias-12, 1) + r.IntN(12)
		}
	case modeTiny:
		e = max(bias/2, 1) - r.IntN(min(bias/2, 8))
		if o == 3 {
			e = r.IntN(bias/5 + 1)
		}
	case modeLarge:
		e = top - top/4 - r.IntN(6)
		if o == 3 {
			e = top - r.IntN(4)
		}
	case modeSpecial:
		if r.IntN(48) == 0 {
			e, zero = top+1, false
			if r.IntN(2) == 0 {
				m = 0
			}
		}
	case modeAbove:
		if o == 3 {
			e = min(bias+r.IntN(min(30, bias)), top)
		}
	case modeBelow:
		if o == 3 {
			e = max(bias-r.IntN(min(34, bias)), 0)
		}
	case modeSingle:
		e = bias + r.IntN(min(2*bias, 28)) - min(bias, 14)
		zero = o == 1 && r.IntN(8) != 0
	}
	if typ == "tf32" && round%2 == 0 {
		m = m >> 13 << 13 // clears the bits that tf32 does not have
	}
	if zero {
		e, m = 0, 0
	}
	return sign<<(exp+mant) | uint64(e)<<mant | m
}
