package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/launchers"
)

var fillSource = source(launchers.FillModule)

// Fill is the operation that sets every element of dst to v. Unlike
// [driver.Fill] it is a kernel, takes elements of 8 bytes of any value, and its
// value is an argument.
//
// Arguments: 0 dst, 1 number of elements (uint64), 2 v. It writes dst.
func Fill[T Element](dst driver.MemoryOf[T], v T) (*driver.Launch, error) {
	d := operandOf("dst", dst)
	if d.err != nil {
		return nil, opError("fill", d.err)
	}
	l, err := fillSource.elementwise(d.mem.Context(), "fill_"+bitsName[T](), d.n, pack(d.size), driver.Out(d.mem), d.n, v)
	if err != nil {
		return nil, opError("fill", err)
	}
	return l, nil
}
