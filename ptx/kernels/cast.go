package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launchers"
)

func castSource(typ string) source {
	switch typ {
	case "f16":
		return launchers.CastF16Module
	case "bf16":
		return launchers.CastBF16Module
	case "f32":
		return launchers.CastF32Module
	}
	return launchers.CastF64Module
}

var castIntSource = source(launchers.CastIntModule)

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
	file, kernel := castKernel[D, S]()
	m := maker{file, to.mem.Context(), kernel, reused(again)}
	l, err := m.elementwise(to.n, pack(max(to.size, from.size)), out(&to), in(&from), u64(to.n))
	if err != nil {
		return nil, opError("cast", err)
	}
	return l, nil
}

// castKernel returns the kernel for a pair of types. Conversions that keep the bits are
// copies. Truncating or extending an integer does not depend on whether the destination
// is signed.
func castKernel[D, S Element]() (source, kernelName) {
	s, d := typeName[S](), typeName[D]()
	switch {
	case s == d || !isFloat[S]() && !isFloat[D]() && sizeOf[S]() == sizeOf[D]():
		return castIntSource, kernelName{"copy_", bitsName[D]()}
	case isFloat[S]():
		return castSource(s), kernelName{"cast_", s, "_", d}
	case isFloat[D]():
		return castIntSource, kernelName{"cast_", s, "_", d}
	case sizeOf[D]() < sizeOf[S]():
		s = unsignedName[S]()
	}
	return castIntSource, kernelName{"cast_", s, "_", unsignedName[D]()}
}

func unsignedName[T Element]() string {
	switch sizeOf[T]() {
	case 1:
		return "u8"
	case 2:
		return "u16"
	case 4:
		return "u32"
	}
	return "u64"
}
