package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/gather"
)

// Index lists the types of indices in device memory.
type Index interface{ int32 | int64 }

// Gather returns the operation that sets row i of dst to row index[i] of src, as an embedding
// lookup does. Rows have width elements, without gaps. dst has one row for each element of index.
// src may have any number of rows. For an index outside the rows of src, the row of dst is set to
// zeros. Nothing outside src is read.
//
// Arguments: 0 dst, 1 number of indices (uint64), 2 bytes of a row (uint64), 3 src, 4
// rows of src (uint64), 5 index, and one more, which must not be changed. It reads src and index and writes dst.
func Gather[T Element, I Index](dst, src driver.MemoryOf[T], index driver.MemoryOf[I], width int, again ...*driver.Launch) (*driver.Launch, error) {
	d, s, x := operandOf("dst", dst), operandOf("src", src), operandOf("index", index)
	if err := rowsFit(d, s, x, width); err != nil {
		return nil, opError("gather", err)
	}
	w, wide := uint64(width), uint32(0)
	if sizeOf[I]() == 8 {
		wide = 1
	}
	m := maker{&gather.Code, d.mem.Context(), kernelName{"gather"}, reused(again)}
	l, err := m.elementwise(several, d.n, pack(d.size),
		out(&d), u64(x.n), u64(w*uint64(d.size)), in(&s), u64(s.n/w), in(&x), constant(wide))
	if err != nil {
		return nil, opError("gather", err)
	}
	return l, nil
}

// rowsFit checks the operands of Gather.
func rowsFit(dst, src, index operand, width int) error {
	if err := usable(dst, src, index); err != nil {
		return err
	}
	if width <= 0 {
		return invalid("rows of %d elements", width)
	}
	w := uint64(width)
	if src.n%w != 0 {
		return invalid("src has %d elements, which is not a whole number of rows of %d", src.n, w)
	}
	if dst.n%w != 0 || dst.n/w != index.n {
		return invalid("dst has %d elements, but %d rows of %d are gathered", dst.n, index.n, w)
	}
	return apart(dst, src, index)
}
