package kernels

import (
	"math/bits"
	"slices"
)

// Layout describes the positions of the elements of an array in memory, counted in
// elements. The element with indices i, j, … is at Offset + i·Strides[0] + j·Strides[1] +
// ….
type Layout struct {
	Offset  int
	Strides []int
}

// RowMajor returns the layout of a contiguous array whose last index varies fastest, as
// in Go and C.
func RowMajor(shape ...int) Layout {
	l := Layout{Strides: make([]int, len(shape))}
	stride := 1
	for i := len(shape) - 1; i >= 0; i-- {
		l.Strides[i] = stride
		stride *= shape[i]
	}
	return l
}

// Permute returns the layout of the same elements with permuted indices: dimension i is
// the former dimension order[i]. The order (1, 0) transposes a matrix. Permute panics if
// order contains an invalid dimension.
func (l Layout) Permute(order ...int) Layout {
	p := Layout{Offset: l.Offset, Strides: make([]int, len(order))}
	for i, from := range order {
		p.Strides[i] = l.Strides[from]
	}
	return p
}

// reach returns the part of an operand's memory that an array with this layout and the given shape
// occupies.
func (l Layout) reach(o operand, shape []int) (operand, error) {
	if len(l.Strides) != len(shape) {
		return o, invalid("%s has %d strides, but the shape has %d dimensions", o.name, len(l.Strides), len(shape))
	}
	n, ok := product(shape...)
	if !ok {
		return o, invalid("%v is not a shape", slices.Clone(shape))
	}
	lo, hi := int64(l.Offset), int64(l.Offset)
	for i, extent := range shape {
		if !stretch(&lo, &hi, int64(extent)-1, int64(l.Strides[i])) {
			return o, invalid("%s: dimension %d with a stride of %d does not fit any memory", o.name, i, l.Strides[i])
		}
	}
	if n == 0 {
		lo, hi = 0, -1
	} else if lo < 0 || uint64(hi) >= o.n {
		return o, invalid("%s has %d elements, but the array reaches from %d to %d", o.name, o.n, lo, hi)
	}
	size := uint64(o.size)
	o.addr, o.bytes = o.addr+uint64(lo)*size, uint64(hi-lo+1)*size
	return o, nil
}

// stretch extends a range by n steps. It returns false if an end of the range overflows.
func stretch(lo, hi *int64, n, step int64) bool {
	if n <= 0 {
		return true
	}
	magnitude := uint64(step)
	if step < 0 {
		magnitude = -magnitude
	}
	over, by := bits.Mul64(uint64(n), magnitude)
	if over != 0 || by >= 1<<60 {
		return false
	}
	if step < 0 {
		*lo -= int64(by)
	} else {
		*hi += int64(by)
	}
	return *lo > -1<<60 && *hi < 1<<60
}

// product multiplies extents. It returns false if an extent is negative or the product is not below
// 2^60.
func product(extents ...int) (n uint64, ok bool) {
	n = 1
	for _, e := range extents {
		if e < 0 {
			return 0, false
		}
		over, p := bits.Mul64(n, uint64(e))
		if over != 0 || p >= 1<<60 {
			return 0, false
		}
		n = p
	}
	return n, true
}
