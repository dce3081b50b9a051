package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

// array is a CUDA array: rows of elements that a program can access only through copies. Its
// elements are densely packed in an ordinary device allocation.
type array struct {
	transfer.Array
	handle uintptr
	mem    *allocation
}

func (a *array) owner() *cudaContext { return a.mem.ctx }

func (a *array) destroy() { a.mem.ctx.e.release(a.mem, "its array's end") }

var arrayFunctions = functions{
	"cuArrayCreate_v2":          {cuArrayCreate, currentUnsafe},
	"cuArray3DCreate_v2":        {cuArray3DCreate, currentUnsafe},
	"cuArrayDestroy":            {cuArrayDestroy, currentUnsafe},
	"cuArrayGetDescriptor_v2":   {cuArrayGetDescriptor, current},
	"cuArray3DGetDescriptor_v2": {query(objectAt[array], 1, 0, func(a *array) cu.CUDA_ARRAY3D_DESCRIPTOR { return a.Desc }), current},
	"cuMemcpyDtoA_v2":           {cuMemcpyDtoA, current},
	"cuMemcpyAtoD_v2":           {cuMemcpyAtoD, current},
	"cuMemcpyHtoA_v2":           {cuMemcpyHtoA, current},
	"cuMemcpyAtoH_v2":           {cuMemcpyAtoH, current},
	"cuMemcpyAtoA_v2":           {cuMemcpyAtoA, current},
	"cuMemcpyHtoAAsync_v2":      {cuMemcpyHtoAAsync, afterInit},
	"cuMemcpyAtoHAsync_v2":      {cuMemcpyAtoHAsync, afterInit},
}

func cuArrayCreate(c call) result {
	d := at[cu.CUDA_ARRAY_DESCRIPTOR](c, 1)
	if d == nil {
		return errInvalidValue
	}
	return createArray(c, cu.CUDA_ARRAY3D_DESCRIPTOR{Width: d.Width, Height: d.Height, Format: d.Format, NumChannels: d.NumChannels})
}

func cuArray3DCreate(c call) result {
	d := at[cu.CUDA_ARRAY3D_DESCRIPTOR](c, 1)
	if d == nil {
		return errInvalidValue
	}
	return createArray(c, *d)
}

const arrayFlags = cu.CUDA_ARRAY3D_VIDEO_ENCODE_DECODE<<1 - 1

func createArray(c call, d cu.CUDA_ARRAY3D_DESCRIPTOR) result {
	element := (&transfer.Array{Desc: d}).Element()
	switch {
	case c.Ptr(0) == nil, d.Width == 0,
		d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4,
		d.Depth != 0 && d.Height == 0, !transfer.KnownFormat(d.Format), d.Flags&^arrayFlags != 0,
		uint64(max(d.Width, d.Height, d.Depth)) > uint64(c.ctx.dev.attr(cu.CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH)):
		return errInvalidValue
	case element == 0 || d.Flags&^cu.CUDA_ARRAY3D_SURFACE_LDST != 0:
		return errNotSupported
	}
	size := uint64(d.Width) * element * max(uint64(d.Height), 1) * max(uint64(d.Depth), 1)
	addr, r := c.ctx.allocate(size, "cuArrayCreate")
	if r != success {
		return r
	}
	a := &array{Array: transfer.Array{Addr: addr, Desc: d}, mem: c.e.allocationAt(addr)}
	a.mem.array = true
	a.handle = c.e.register(a)
	return put(c, 0, a.handle)
}

func cuArrayDestroy(c call) result {
	a := handleAt[array](c, 0)
	if a == nil {
		return errInvalidHandle
	}
	a.mem.dev.wait()
	a.destroy()
	c.e.forget(a.handle)
	return a.mem.dev.fault
}

func cuArrayGetDescriptor(c call) result {
	a := handleAt[array](c, 1)
	switch {
	case a == nil:
		return errInvalidHandle
	case a.Desc.Depth != 0:
		return errInvalidValue
	}
	return put(c, 0, cu.CUDA_ARRAY_DESCRIPTOR{
		Width: a.Desc.Width, Height: a.Desc.Height, Format: a.Desc.Format, NumChannels: a.Desc.NumChannels,
	})
}

func (e *Emulator) arrayOf(h cu.CUarray) *transfer.Array {
	if a := find[array](e, uintptr(h)); a != nil {
		return &a.Array
	}
	return nil
}

// linePlace reads a one-dimensional array and a byte offset into it from arguments i and i+1. It
// returns that position as one side of a copy.
func linePlace(c call, i int) (transfer.Side, result) {
	a, offset := handleAt[array](c, i), c.Uint64(i+1)
	switch {
	case a == nil:
		return transfer.Side{}, errInvalidHandle
	case a.Desc.Height > 1 || a.Desc.Depth > 1 || offset > a.Pitch():
		return transfer.Side{}, errInvalidValue
	}
	return transfer.Device(a.Addr + offset), success
}

// The following functions copy between other memory and a byte offset in an array.

// arrayNow performs a synchronous copy of n bytes. r is the result of linePlace. If r is an error,
// arrayNow returns it.
func arrayNow(c call, r result, dst, src transfer.Side, n uint64) result {
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, transfer.Line(n))
}

func cuMemcpyDtoA(c call) result {
	dst, r := linePlace(c, 0)
	return arrayNow(c, r, dst, transfer.Device(c.Uint64(2)), c.Uint64(3))
}

func cuMemcpyAtoD(c call) result {
	src, r := linePlace(c, 1)
	return arrayNow(c, r, transfer.Device(c.Uint64(0)), src, c.Uint64(3))
}

func cuMemcpyHtoA(c call) result {
	dst, r := linePlace(c, 0)
	return arrayNow(c, r, dst, transfer.Host(c.Ptr(2)), c.Uint64(3))
}

func cuMemcpyAtoH(c call) result {
	src, r := linePlace(c, 1)
	return arrayNow(c, r, transfer.Host(c.Ptr(0)), src, c.Uint64(3))
}

func cuMemcpyAtoA(c call) result {
	dst, r := linePlace(c, 0)
	if r != success {
		return r
	}
	src, r := linePlace(c, 2)
	return arrayNow(c, r, dst, src, c.Uint64(4))
}

// arrayLater is like arrayNow, but for an asynchronous copy. Argument 3 is the size of the copy,
// and argument 4 is its stream.
func arrayLater(c call, r result, dst, src transfer.Side) result {
	s, bad := streamAt(c, 4)
	switch {
	case bad != success:
		return bad
	case r != success:
		return r
	}
	return copyLater(c, s, &dst, &src, transfer.Line(c.Uint64(3)))
}

func cuMemcpyHtoAAsync(c call) result {
	dst, r := linePlace(c, 0)
	return arrayLater(c, r, dst, transfer.Host(c.Ptr(2)))
}

func cuMemcpyAtoHAsync(c call) result {
	src, r := linePlace(c, 1)
	return arrayLater(c, r, transfer.Host(c.Ptr(0)), src)
}
