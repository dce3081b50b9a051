package vm

import (
	"math"

	"github.com/purecuda/cuda/ptx"
)

// Conversions of f32 to tf32, and which forms of cvt there are.

var formatTF32 = format{10, 8}

// tf32NaN is the result of .rn and .rz for a NaN.
const tf32NaN = 0x7fffe000

// cvtTF32 is cvt to .tf32. The mode .rna adds half of the last place to the pattern. With
// .satfinite it does so even to infinities and NaNs, as the hardware does.
func cvtTF32(f *form) execFunc {
	relu, finite := f.has(flagRelu), f.has(flagSatFinite)
	switch {
	case f.round == roundRNA && !relu:
		return lane1(func(x uint32) uint32 { return tf32Away(x, finite) })
	case f.round != roundRN && f.round != roundRZ, finite:
		return nil // .satfinite with these modes came with sm_100
	}
	return lane1(func(x uint32) uint32 {
		v := float64(math.Float32frombits(x))
		switch {
		case v != v:
			return tf32NaN
		case relu && v <= 0:
			v = 0
		}
		return formatTF32.encode(v, f.round) << 13
	})
}

func tf32Away(x uint32, finite bool) uint32 {
	const inf = 0x7f800000
	if x&inf != inf {
		x += 1 << 12
	}
	x &^= 1<<13 - 1
	if finite && x&inf == inf {
		x -= 1 << 13
	}
	return x
}

// cvtAllowed reports whether drivers accept a conversion of these types with these modifiers.
func cvtAllowed(dt, st ptx.Type, f *form) bool {
	bf16 := dt == ptx.BF16 || st == ptx.BF16
	small := dt.Size() == 1 || st.Size() == 1
	switch {
	case bf16 && (f.has(flagSat) || small):
		return false
	case f.has(flagSat) && !isFloat(dt) && !isFloat(st):
		return narrows(dt, st)
	}
	return true
}

// narrows reports whether an integer of type st may be out of dt's range.
func narrows(dt, st ptx.Type) bool {
	dw, ds := bitsOf(dt)
	sw, ss := bitsOf(st)
	switch {
	case ss && !ds:
		return true
	case ds && !ss:
		return sw >= dw
	}
	return sw > dw
}
