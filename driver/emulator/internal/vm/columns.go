package vm

import (
	"math/bits"
	"unsafe"
)

// word32 are the types as which a column of the 32-bit bank can be seen.
type word32 interface{ uint32 | int32 | float32 }

// word64 are the types as which a column of the 64-bit bank can be seen.
type word64 interface{ uint64 | int64 | float64 }

type word interface{ word32 | word64 }

type integer interface {
	uint32 | int32 | uint64 | int64
}

// col is column i of the bank that holds values of type T.
//
//go:nocheckptr
func col[T word](w *warp, i uint32) *[lanes]T {
	var t T
	if unsafe.Sizeof(t) == 8 {
		return (*[lanes]T)(unsafe.Pointer(&w.r64[i]))
	}
	return (*[lanes]T)(unsafe.Pointer(&w.r32[i]))
}

// first returns the lowest lane of a non-empty mask.
func first(m uint32) int { return bits.TrailingZeros32(m) & (lanes - 1) }

// The wrappers below turn a function of one lane's values into an instruction. They are for
// instructions that are too rare for a dedicated loop.

func lane1[D, A word](f func(A) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a := col[D](w, in.d), col[A](w, in.a)
		if m == full {
			for i := range d {
				d[i] = f(a[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i])
		}
	}
}

func lane2[D, A, B word](f func(A, B) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a, b := col[D](w, in.d), col[A](w, in.a), col[B](w, in.b)
		if m == full {
			for i := range d {
				d[i] = f(a[i], b[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i], b[i])
		}
	}
}

func lane3[D, A, B, C word](f func(A, B, C) D) execFunc {
	return func(w *warp, in *inst, m uint32) {
		d, a, b, c := col[D](w, in.d), col[A](w, in.a), col[B](w, in.b), col[C](w, in.c)
		if m == full {
			for i := range d {
				d[i] = f(a[i], b[i], c[i])
			}
			return
		}
		for ; m != 0; m &= m - 1 {
			i := first(m)
			d[i] = f(a[i], b[i], c[i])
		}
	}
}

// pred1 makes an instruction that writes a predicate.
func pred1[A word](f func(A) bool) execFunc {
	return func(w *warp, in *inst, m uint32) {
		a := col[A](w, in.a)
		var r uint32
		for k := m; k != 0; k &= k - 1 {
			i := first(k)
			r |= b2u(f(a[i])) << i
		}
		w.setPred(in, r, m)
	}
}
