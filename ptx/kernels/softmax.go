package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
	"github.com/purecuda/cuda/ptx/kernels/internal/softmax"
)

// NetFloat lists the element types of the neural network kernels. The kernels compute in
// float32.
type NetFloat interface {
	float32 | F16 | BF16
}

// Softmax returns the operation that sets each row of dst to the softmax of scale times the row of
// src. Each element x becomes exp(scale*x - m) divided by the sum of these exponentials over the
// row, where m is the row's largest scale*x. Both matrices must have the same rows and columns. dst
// may be src.
//
// The relative error of an element before rounding to T is at most 1e-6 + 6e-8·|scale*x - m|, or
// 1e-6 + 1.5e-7·|scale*x - m| for the 16-bit types, if |scale| is below 2e38. Results below 2e-38 may be 0. A row that
// contains NaN or +Inf, or only -Inf, becomes a row of NaNs. In other rows, an element of -Inf
// becomes 0.
//
// From compute capability 9.0 on, which has clusters of blocks, rows of up to about 460,000 elements, or 920,000
// elements of 16 bits, are read once. Other rows are read twice. If each row of dst has the same
// alignment as that of src, modulo 16 bytes, rows of any length are read and written in packs of 16
// bytes. From compute capability 9.0 on, a warp copies up to 64 short rows together if they have no gaps. Rows have
// fewer than 2^32 elements.
//
// Arguments: 0 dst, 1 src, 2 rows, 3 columns, 4 pitch of dst, 5 pitch of src (all
// uint64), 6 scale (float32), 7 type of the elements (uint32). Do not change argument 7, and do not increase
// argument 3.
func Softmax[T NetFloat](dst, src Matrix[T], scale float32, again ...*driver.Launch) (*driver.Launch, error) {
	d, s := dst.operand("dst"), src.operand("src")
	if err := sameRows(d, s); err != nil {
		return nil, opError("softmax", err)
	}
	r := rowwise{&softmax.Code, kernelName{"softmax"}, d, s, false, softmaxSm90, reused(again), 0}
	if sizeOf[T]() == 4 {
		r.registers = registersF32
	}
	l, err := r.prepare(out(&d.operand), in(&s.operand),
		u64(uint64(d.rows)), u64(uint64(d.cols)), u64(uint64(d.pitch)), u64(uint64(s.pitch)), f32(scale), constant(uint32(floatKind[T]())))
	if err != nil {
		return nil, opError("softmax", err)
	}
	return l, nil
}

// registersF32 is the number of registers of a thread of the kernel of sm_90 for elements of type float32. Types of 16 bits
// need more: see package softmaxsm90. With fewer registers, more threads are resident.
const registersF32 = 48

// sameRows checks the operands of a rowwise operation.
func sameRows(dst, src box) error {
	if err := usable(dst.operand, src.operand); err != nil {
		return err
	}
	if err := sameShape(dst, src); err != nil {
		return err
	}
	return boxInPlace(dst, src)
}

// halfOf returns the argument that names the type of 16-bit elements, which other kernels ignore.
func halfOf[T Element]() arg {
	return constant(uint32(floatKind[T]() &^ rows.F32))
}

// floatKind returns the number of the type of elements of up to 32 bits.
func floatKind[T Element]() rows.Half {
	switch {
	case sizeOf[T]() == 4:
		return rows.F32
	case typeOf[T]() == typeBF16:
		return rows.BF16
	}
	return rows.F16
}
