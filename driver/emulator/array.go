package emulator

import (
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// array is a CUDA array: rows of elements that the program can only reach by copies. It lies in
// device memory like any allocation, densely packed.
type array struct {
	handle uintptr
	mem    *allocation
	desc   cu.CUDA_ARRAY3D_DESCRIPTOR
}

func (a *array) owner() *cudaContext { return a.mem.ctx }

func (a *array) destroy() { a.mem.ctx.e.release(a.mem, "its array's end") }

var arrayFunctions = functions{
	"cuArrayCreate_v2":          {cuArrayCreate, currentUnsafe},
	"cuArray3DCreate_v2":        {cuArray3DCreate, currentUnsafe},
	"cuArrayDestroy":            {cuArrayDestroy, currentUnsafe},
	"cuArrayGetDescriptor_v2":   {cuArrayGetDescriptor, current},
	"cuArray3DGetDescriptor_v2": {cuArray3DGetDescriptor, current},
	"cuMemcpyDtoA_v2":           {cuMemcpyDtoA, current},
	"cuMemcpyAtoD_v2":           {cuMemcpyAtoD, current},
	"cuMemcpyHtoA_v2":           {cuMemcpyHtoA, current},
	"cuMemcpyAtoH_v2":           {cuMemcpyAtoH, current},
	"cuMemcpyAtoA_v2":           {cuMemcpyAtoA, current},
	"cuMemcpyHtoAAsync_v2":      {cuMemcpyHtoAAsync, afterInit},
	"cuMemcpyAtoHAsync_v2":      {cuMemcpyAtoHAsync, afterInit},
}

// formatSize is the size of one channel, 0 for formats that are not stored
// channel by channel.
func formatSize(f cu.CUarray_format) uint64 {
	switch f {
	case cu.CU_AD_FORMAT_UNSIGNED_INT8, cu.CU_AD_FORMAT_SIGNED_INT8:
		return 1
	case cu.CU_AD_FORMAT_UNSIGNED_INT16, cu.CU_AD_FORMAT_SIGNED_INT16, cu.CU_AD_FORMAT_HALF:
		return 2
	case cu.CU_AD_FORMAT_UNSIGNED_INT32, cu.CU_AD_FORMAT_SIGNED_INT32, cu.CU_AD_FORMAT_FLOAT:
		return 4
	}
	return 0
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

// arrayFlags is the mask of all array flags.
const arrayFlags = cu.CUDA_ARRAY3D_VIDEO_ENCODE_DECODE<<1 - 1

func knownFormat(f cu.CUarray_format) bool {
	return !strings.HasPrefix(f.String(), "CUarray_format(")
}

func createArray(c call, d cu.CUDA_ARRAY3D_DESCRIPTOR) result {
	element := formatSize(d.Format) * uint64(d.NumChannels)
	switch {
	case c.Ptr(0) == nil, d.Width == 0,
		d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4,
		d.Depth != 0 && d.Height == 0, !knownFormat(d.Format), d.Flags&^arrayFlags != 0,
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
	a := &array{mem: c.e.allocationAt(addr), desc: d}
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
	case a.desc.Depth != 0:
		return errInvalidValue
	}
	return put(c, 0, cu.CUDA_ARRAY_DESCRIPTOR{
		Width: a.desc.Width, Height: a.desc.Height, Format: a.desc.Format, NumChannels: a.desc.NumChannels,
	})
}

func cuArray3DGetDescriptor(c call) result {
	a := handleAt[array](c, 1)
	if a == nil {
		return errInvalidHandle
	}
	return put(c, 0, a.desc)
}

// element returns the size of an element in bytes.
func (a *array) element() uint64 { return formatSize(a.desc.Format) * uint64(a.desc.NumChannels) }

// pitch returns the size of a row in bytes.
func (a *array) pitch() uint64 { return uint64(a.desc.Width) * a.element() }

// place fills in p with the array as one side of a copy. It keeps the origin that p already has.
func (a *array) place(p *place) {
	p.addr, p.pitch, p.height = a.mem.addr, a.pitch(), max(uint64(a.desc.Height), 1)
}

// linePlace returns a one-dimensional array as one side of a copy, starting at an offset in bytes.
func (c call) linePlace(h uintptr, offset uint64) (place, result) {
	a := find[array](c.e, h)
	switch {
	case a == nil:
		return place{}, errInvalidHandle
	case a.desc.Height > 1 || a.desc.Depth > 1 || offset > a.pitch():
		return place{}, errInvalidValue
	}
	return devicePlace(a.mem.addr + offset), success
}

// One-dimensional copies between (array, offset) and other memory.

func cuMemcpyDtoA(c call) result {
	dst, r := c.linePlace(c.Word(0), c.Uint64(1))
	if r != success {
		return r
	}
	src := devicePlace(c.Uint64(2))
	return copyNow(c, &dst, &src, line(c.Uint64(3)))
}

func cuMemcpyAtoD(c call) result {
	src, r := c.linePlace(c.Word(1), c.Uint64(2))
	if r != success {
		return r
	}
	dst := devicePlace(c.Uint64(0))
	return copyNow(c, &dst, &src, line(c.Uint64(3)))
}

func cuMemcpyHtoA(c call) result {
	dst, r := c.linePlace(c.Word(0), c.Uint64(1))
	if r != success {
		return r
	}
	src := hostPlace(c.Ptr(2))
	return copyNow(c, &dst, &src, line(c.Uint64(3)))
}

func cuMemcpyAtoH(c call) result {
	src, r := c.linePlace(c.Word(1), c.Uint64(2))
	if r != success {
		return r
	}
	dst := hostPlace(c.Ptr(0))
	return copyNow(c, &dst, &src, line(c.Uint64(3)))
}

func cuMemcpyAtoA(c call) result {
	dst, r := c.linePlace(c.Word(0), c.Uint64(1))
	if r != success {
		return r
	}
	src, r := c.linePlace(c.Word(2), c.Uint64(3))
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, line(c.Uint64(4)))
}

func cuMemcpyHtoAAsync(c call) result {
	s, r := streamAt(c, 4)
	if r != success {
		return r
	}
	dst, r := c.linePlace(c.Word(0), c.Uint64(1))
	if r != success {
		return r
	}
	src := hostPlace(c.Ptr(2))
	return copyLater(c, s, &dst, &src, line(c.Uint64(3)))
}

func cuMemcpyAtoHAsync(c call) result {
	s, r := streamAt(c, 4)
	if r != success {
		return r
	}
	src, r := c.linePlace(c.Word(1), c.Uint64(2))
	if r != success {
		return r
	}
	dst := hostPlace(c.Ptr(0))
	return copyLater(c, s, &dst, &src, line(c.Uint64(3)))
}
