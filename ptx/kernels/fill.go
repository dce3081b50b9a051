package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/fill"
)

// Fill returns the operation that sets every element of dst to v. Unlike [driver.Fill] it
// launches a kernel. It therefore accepts any value for elements of 8 bytes, and the
// value is an argument that can be changed.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 v. It writes dst.
func Fill[T Element](dst driver.MemoryOf[T], v T, again ...*driver.Launch) (*driver.Launch, error) {
	d := operandOf("dst", dst)
	if d.err != nil {
		return nil, opError("fill", d.err)
	}
	m := maker{&fill.Code, d.mem.Context(), kernelName{"fill_", bitsName[T]()}, reused(again)}
	l, err := m.elementwise(once, d.n, pack(d.size), out(&d), u64(d.n), number(v))
	if err != nil {
		return nil, opError("fill", err)
	}
	return l, nil
}
