package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/norm"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

// RMSNorm returns the operation that sets each row of dst to src / sqrt(mean(src²) + eps) · weight,
// where mean is taken over the row of src. weight has one element per column, and nil means ones.
// Both matrices must have the same rows and columns. dst may be src.
//
// If the squares are finite, the relative error of an element is at most 2e-6 before
// rounding to T.
//
// Rows are read once or twice as with [Softmax]. They are written in packs only if the packs of weight are
// aligned, too, as if both begin at multiples of 16 bytes. Arguments: 0 dst, 1 src, 2 weight, 3
// nil, 4 rows, 5 columns, 6 pitch of dst, 7 pitch of src (all uint64), 8 eps (float32), 9 type of the elements and of
// the norm (uint32). Do not change argument 9, and do not increase argument 5.
func RMSNorm[T NetFloat](dst, src Matrix[T], weight driver.MemoryOf[T], eps float32, again ...*driver.Launch) (*driver.Launch, error) {
	d, s, w := dst.operand("dst"), src.operand("src"), perColumn("weight", weight, src.Cols)
	if err := normOperands(d, s, w); err != nil {
		return nil, opError("RMS norm", err)
	}
	l, err := normalize[T](d, s, w, operand{none: true}, eps, rows.RMS, again)
	if err != nil {
		return nil, opError("RMS norm", err)
	}
	return l, nil
}

// LayerNorm returns the operation that sets each row of dst to (src - mean) / sqrt(mean((src -
// mean)²) + eps) · weight + bias, where mean is taken over the row of src. weight and bias have one
// element per column. A nil weight means ones, and a nil bias means zeros. Both matrices must have
// the same rows and columns. dst may be src.
//
// The error of an element before rounding to T is at most 2e-6 times the sum of |bias|, |weight|
// and |dst|. If the mean is larger than the standard deviation, the bound increases by
// 2e-7·|weight·mean|/deviation.
//
// Rows are read once or twice as with [Softmax]. They are written in packs only if the packs of weight and
// bias are aligned, too, as if all begin at multiples of 16 bytes. Arguments: 0 dst, 1 src, 2 weight, 3
// bias, 4 rows, 5 columns, 6 pitch of dst, 7 pitch of src (all uint64), 8 eps (float32), 9 type of the elements and of the norm
// (uint32). Do not change argument 9, and do not increase argument 5.
func LayerNorm[T NetFloat](dst, src Matrix[T], weight, bias driver.MemoryOf[T], eps float32, again ...*driver.Launch) (*driver.Launch, error) {
	d, s := dst.operand("dst"), src.operand("src")
	w, b := perColumn("weight", weight, src.Cols), perColumn("bias", bias, src.Cols)
	if err := normOperands(d, s, w, b); err != nil {
		return nil, opError("layer norm", err)
	}
	l, err := normalize[T](d, s, w, b, eps, 0, again)
	if err != nil {
		return nil, opError("layer norm", err)
	}
	return l, nil
}

// normalize creates a norm of a kind.
func normalize[T NetFloat](d, s box, w, b operand, eps float32, kind rows.Half, again []*driver.Launch) (*driver.Launch, error) {
	r := rowwise{&norm.Code, kernelName{"norm"}, d, s, !w.none || !b.none, normSm90, reused(again), 0}
	l, err := r.prepare(out(&d.operand), in(&s.operand), optional(&w), optional(&b),
		u64(uint64(d.rows)), u64(uint64(d.cols)), u64(uint64(d.pitch)), u64(uint64(s.pitch)), f32(eps), constant(uint32(floatKind[T]()|kind)))
	if err == nil {
		l.Kernel().SetLabel(norm.Label)
	}
	return l, err
}

// normOperands checks the operands of a norm. It rejects a weight or bias that overlaps
// dst.
func normOperands(dst, src box, columns ...operand) error {
	if err := sameRows(dst, src); err != nil {
		return err
	}
	for _, o := range columns {
		if o.err != nil {
			return o.err
		}
		if o.none {
			continue
		}
		if dst.access().Overlaps(wholeOf(o)) {
			return invalid("dst and %s overlap", o.name)
		}
	}
	return nil
}

// wholeOf returns a write access to the whole operand.
func wholeOf(o operand) driver.Access {
	return driver.Access{Addr: o.addr, Bytes: o.bytes, Mode: driver.Writes}
}
