package vm

import (
	"math"

	"github.com/purecuda/cuda/ptx"
)

// NaNs. The PTX ISA specifies the payload of f64 NaNs. An f32 instruction replaces every NaN by a
// single one. Which of several NaNs is propagated follows the hardware. It is explicit here,
// because host processors differ.

// defaultNaN64 is the NaN of an invalid operation.
const defaultNaN64 = 0xfff8_0000_0000_0000

func quiet64(x float64) float64 { return math.Float64frombits(math.Float64bits(x) | 1<<51) }

// canonical32 replaces any NaN by the one that f32 instructions produce.
func canonical32(x uint32) uint32 {
	if x&0x7fffffff > 0x7f800000 {
		return canonicalNaN
	}
	return x
}

// canonicalF32 is canonical32 of a value.
func canonicalF32(x float32) float32 {
	if x != x {
		return math.Float32frombits(canonicalNaN)
	}
	return x
}

// nanOf returns the NaN that an operation on a and b produces: b if it is a NaN, else a if it is
// one, else the NaN of invalid operations.
func nanOf(a, b float64) float64 {
	switch {
	case b != b:
		return quiet64(b)
	case a != a:
		return quiet64(a)
	}
	return math.Float64frombits(defaultNaN64)
}

// nanOrNumber returns b if it is a NaN, otherwise a.
func nanOrNumber(a, b float64) float64 {
	if b != b {
		return b
	}
	return a
}

// binary64 and unary64 make instructions from functions whose NaNs are not the hardware's.
func binary64(fn func(a, b float64) float64) execFunc {
	return lane2(func(a, b float64) float64 {
		x := fn(a, b)
		if x != x {
			return nanOf(a, b)
		}
		return x
	})
}

func unary64(fn func(a float64) float64) execFunc {
	return lane1(func(a float64) float64 {
		x := fn(a)
		if x != x {
			return nanOf(a, a)
		}
		return x
	})
}

//go:norace
//go:nocheckptr
func execAddF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x + y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

//go:norace
//go:nocheckptr
func execSubF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x - y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

//go:norace
//go:nocheckptr
func execMulF64(w *warp, in *inst, m uint32) {
	d, a, b := col[float64](w, in.d), col[float64](w, in.a), col[float64](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		x, y := a[i], b[i]
		if d[i] = x * y; d[i] != d[i] {
			d[i] = nanOf(x, y)
		}
	}
}

// cvtNaN returns the conversion of a NaN's pattern. It returns nil if the result is the canonical
// NaN or not a NaN at all.
func cvtNaN(dt, st ptx.Type, f *form) func(uint64) uint64 {
	from, to := formatOf(st), formatOf(dt)
	switch {
	case f.has(flagSat | flagRelu | flagSatFinite):
		return nil
	case st == ptx.BF16 && dt == ptx.F32:
		return func(x uint64) uint64 { return x & 0xffff << 16 }
	case dt == ptx.F64 && st == ptx.F32 && f.has(flagFtz):
		return func(uint64) uint64 { return 0x7fffffffe0000000 }
	case dt != ptx.F64 && st != ptx.F64:
		return nil
	}
	return func(x uint64) uint64 {
		sign := x >> (from.mant + from.exp) & 1 << (to.mant + to.exp)
		m := x & (1<<from.mant - 1)
		if to.mant >= from.mant {
			m <<= to.mant - from.mant
		} else {
			m >>= from.mant - to.mant
		}
		return sign | (1<<to.exp-1)<<to.mant | m | 1<<(to.mant-1)
	}
}

// formatOf is the format of a floating-point type.
func formatOf(t ptx.Type) format {
	switch t {
	case ptx.F16:
		return formatF16
	case ptx.BF16:
		return formatBF16
	case ptx.F64:
		return format{52, 11}
	}
	return formatF32
}
