package vm

import "math/bits"

// u16x and s16x derive 16-bit operations from 32-bit ones. A column stores a 16-bit value with the
// upper half clear.
func u16x(f func(a, b uint32) uint32) execFunc {
	return lane2(func(a, b uint32) uint32 { return f(a&0xffff, b&0xffff) & 0xffff })
}

func s16x(f func(a, b int32) int32) execFunc {
	return lane2(func(a, b int32) int32 { return f(int32(int16(a)), int32(int16(b))) & 0xffff })
}

func mulHiU32(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }

func mulHiS32(a, b int32) int32 { return int32(int64(a) * int64(b) >> 32) }

func mulHiU64(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi
}

func mulHiS64(a, b int64) int64 {
	hi, _ := bits.Mul64(uint64(a), uint64(b))
	return int64(hi) - a>>63&b - b>>63&a
}

// A division by zero returns all ones for both quotient and remainder, as the hardware does. The
// ISA specifies neither.
func divU32(a, b uint32) uint32 {
	if b == 0 {
		return ^uint32(0)
	}
	return a / b
}

func divS32(a, b int32) int32 {
	if b == 0 {
		return -1
	}
	if b == -1 {
		return -a
	}
	return a / b
}

func divU64(a, b uint64) uint64 {
	if b == 0 {
		return ^uint64(0)
	}
	return a / b
}

func divS64(a, b int64) int64 {
	if b == 0 {
		return -1
	}
	if b == -1 {
		return -a
	}
	return a / b
}

func remU32(a, b uint32) uint32 {
	if b == 0 {
		return ^uint32(0)
	}
	return a % b
}

func remS32(a, b int32) int32 {
	switch b {
	case 0:
		return -1
	case -1:
		return 0
	}
	return a % b
}

func remU64(a, b uint64) uint64 {
	if b == 0 {
		return ^uint64(0)
	}
	return a % b
}

func remS64(a, b int64) int64 {
	switch b {
	case 0:
		return -1
	case -1:
		return 0
	}
	return a % b
}

func packed16(a, b uint32, f func(a, b uint32) uint32) uint32 {
	return f(a&0xffff, b&0xffff)&0xffff | f(a>>16, b>>16)<<16
}

func saturate32(x int64) int32 { return int32(min(max(x, -1<<31), 1<<31-1)) }

func minMax16x2(signed, isMax bool) execFunc {
	pick := func(a, b uint32) uint32 {
		less := a < b
		if signed {
			less = int16(a) < int16(b)
		}
		if less != isMax {
			return a
		}
		return b
	}
	return lane2(func(a, b uint32) uint32 { return packed16(a, b, pick) })
}

//go:norace
func execCarry32(w *warp, in *inst, m uint32) {
	d, a, b := &w.r32[in.d], &w.r32[in.a], &w.r32[in.b]
	cc := w.pr[in.c]
	var out uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		var c, r uint32
		if in.aux&carryIn != 0 {
			c = cc >> i & 1
		}
		if in.aux&carrySub != 0 {
			if in.aux&carryIn != 0 {
				c ^= 1
			}
			r, c = bits.Sub32(a[i], b[i], c)
			c ^= 1
		} else {
			r, c = bits.Add32(a[i], b[i], c)
		}
		d[i] = r
		out |= c << i
	}
	if in.aux&carryOutput != 0 {
		w.pr[in.c] = cc&^m | out
	}
}

//go:norace
func execCarry64(w *warp, in *inst, m uint32) {
	d, a, b := &w.r64[in.d], &w.r64[in.a], &w.r64[in.b]
	cc := w.pr[in.c]
	var out uint32
	for k := m; k != 0; k &= k - 1 {
		i := first(k)
		var c, r uint64
		if in.aux&carryIn != 0 {
			c = uint64(cc >> i & 1)
		}
		if in.aux&carrySub != 0 {
			if in.aux&carryIn != 0 {
				c ^= 1
			}
			r, c = bits.Sub64(a[i], b[i], c)
			c ^= 1
		} else {
			r, c = bits.Add64(a[i], b[i], c)
		}
		d[i] = r
		out |= uint32(c) << i
	}
	if in.aux&carryOutput != 0 {
		w.pr[in.c] = cc&^m | out
	}
}

// Loops over the lanes for the most frequent integer instructions. Each function has two loops. The
// loop for a full warp compiles to code without bounds checks. The other loop visits the bits that
// are set in the mask.

//go:norace
//go:nocheckptr
func execAdd[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := 0; i < lanes; i += 4 {
			d[i] = a[i] + b[i]
			d[i+1] = a[i+1] + b[i+1]
			d[i+2] = a[i+2] + b[i+2]
			d[i+3] = a[i+3] + b[i+3]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] + b[i]
	}
}

//go:norace
//go:nocheckptr
func execSub[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] - b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] - b[i]
	}
}

//go:norace
//go:nocheckptr
func execMulLo[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] * b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] * b[i]
	}
}

//go:norace
//go:nocheckptr
func execMadLo[T integer](w *warp, in *inst, m uint32) {
	d, a, b, c := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b), col[T](w, in.c)
	if m == full {
		for i := range d {
			d[i] = a[i]*b[i] + c[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i]*b[i] + c[i]
	}
}

// execMulWide multiplies 32-bit columns of type T and writes the 64-bit products to a column of
// type D.
//
//go:norace
//go:nocheckptr
func execMulWide[T uint32 | int32, D uint64 | int64](w *warp, in *inst, m uint32) {
	d, a, b := col[D](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = D(a[i]) * D(b[i])
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = D(a[i]) * D(b[i])
	}
}

//go:norace
//go:nocheckptr
func execMadWide[T uint32 | int32, D uint64 | int64](w *warp, in *inst, m uint32) {
	d, a, b, c := col[D](w, in.d), col[T](w, in.a), col[T](w, in.b), col[D](w, in.c)
	if m == full {
		for i := range d {
			d[i] = D(a[i])*D(b[i]) + c[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = D(a[i])*D(b[i]) + c[i]
	}
}

//go:norace
//go:nocheckptr
func execMin[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = min(a[i], b[i])
	}
}

//go:norace
//go:nocheckptr
func execMax[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = max(a[i], b[i])
	}
}

//go:norace
//go:nocheckptr
func execAnd[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] & b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] & b[i]
	}
}

//go:norace
//go:nocheckptr
func execOr[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] | b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] | b[i]
	}
}

//go:norace
//go:nocheckptr
func execXor[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), col[T](w, in.b)
	if m == full {
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] ^ b[i]
	}
}

// execShl shifts left. A shift by at least the width returns 0.
//
//go:norace
//go:nocheckptr
func execShl[T uint32 | uint64](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), &w.r32[in.b]
	if m == full {
		for i := range d {
			d[i] = a[i] << b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] << b[i]
	}
}

//go:norace
//go:nocheckptr
func execShr[T integer](w *warp, in *inst, m uint32) {
	d, a, b := col[T](w, in.d), col[T](w, in.a), &w.r32[in.b]
	if m == full {
		for i := range d {
			d[i] = a[i] >> b[i]
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = a[i] >> b[i]
	}
}
