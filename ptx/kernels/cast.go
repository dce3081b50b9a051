package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	kinds "github.com/purecuda/cuda/ptx/kernels/internal/cast"
)

// Cast returns the operation that converts each element of src and stores it in dst:
//
//   - A conversion to a float rounds once to nearest, ties to even. Numbers that
//     are too large become an infinity.
//   - A conversion from a float to an integer rounds toward zero. Numbers out of
//     range become the nearest limit of the range, and NaN becomes 0.
//   - A conversion between integers keeps the low bits, as in Go.
//
// dst and src must have the same length. They may be the same memory if the types have
// the same size.
//
// Arguments: 0 dst, 1 src, 2 number of elements (uint64). It reads src and writes dst.
func Cast[D, S Element](dst driver.MemoryOf[D], src driver.MemoryOf[S], again ...*driver.Launch) (*driver.Launch, error) {
	to, from := operandOf("dst", dst), operandOf("src", src)
	if err := elementwiseOf(to, from); err != nil {
		return nil, opError("cast", err)
	}
	c := castOf[D, S]()
	m := maker{&kinds.Code, to.mem.Context(), c.kernel, reused(again)}
	args := [5]arg{out(&to), in(&from), u64(to.n), constant(c.to), constant(c.from)}
	count, often := len(args), several
	if c.copies {
		count, often = 4, once
	}
	l, err := m.elementwise(often, to.n, c.each, args[:count]...)
	if err != nil {
		return nil, opError("cast", err)
	}
	return l, nil
}

// conversion describes the kernel of a cast. Its last arguments select the types or, if it copies, the size.
type conversion struct {
	kernel   kernelName
	each     uint64
	copies   bool
	to, from uint32
}

// kindOf contains the code of each elementType in package cast.
var kindOf = [...]uint32{
	typeU8: kinds.U8, typeI8: kinds.I8, typeU16: kinds.U16, typeI16: kinds.I16, typeU32: kinds.U32, typeI32: kinds.I32,
	typeU64: kinds.U64, typeI64: kinds.I64, typeF16: kinds.F16, typeBF16: kinds.BF16, typeF32: kinds.F32, typeF64: kinds.F64,
}

// castOf returns the kernel for a pair of types. Conversions that keep the bits are copies.
func castOf[D, S Element]() conversion {
	d, s := typeOf[D](), typeOf[S]()
	if d == s || !isFloat[S]() && !isFloat[D]() && sizeOf[S]() == sizeOf[D]() {
		return conversion{kernel: kernelName{"copy"}, each: pack(sizeOf[D]()), copies: true, to: uint32(bits.TrailingZeros(uint(sizeOf[D]())))}
	}
	return conversion{kernel: kernelName{"cast"}, each: uint64(kinds.Each(kindOf[d])), to: kindOf[d], from: kindOf[s]}
}
