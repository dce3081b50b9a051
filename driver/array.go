package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// Array is a CUDA array: memory in an opaque layout, for textures and surfaces. It has no
// addresses, so the host only copies it (see [Region]).
type Array struct {
	life *life.Lifetime
	ctx  *Context
	raw  cu.CUarray
	desc cu.CUDA_ARRAY3D_DESCRIPTOR
}

// NewArray allocates an array. Width, Height (0 in 1D) and Depth (0 in 2D) are in elements. Each
// has NumChannels (1, 2 or 4) channels of type Format.
func (c *Context) NewArray(desc cu.CUDA_ARRAY3D_DESCRIPTOR) (*Array, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	l, err := newLifetime(c, "array")
	if err != nil {
		return nil, err
	}
	if channelBytes(desc.Format) == 0 {
		return nil, l.Abandon(invalidf("format %v is not stored by channels of 1, 2 or 4 bytes", desc.Format))
	}
	a := &Array{life: l, ctx: c, desc: desc}
	if err := c.core.bound.CuArray3DCreate(&a.raw, &desc); err != nil {
		return nil, l.Abandon(err)
	}
	raw := a.raw
	life.Own(a, l, uint64(raw), func(d *cu.Driver) error { return d.CuArrayDestroy(raw) })
	return a, nil
}

// channelBytes returns the size of one channel in bytes, or 0 for a format that NewArray rejects.
func channelBytes(f cu.CUarray_format) uintptr {
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

// Raw returns the driver's handle.
func (a *Array) Raw() cu.CUarray {
	if a == nil {
		return 0
	}
	return a.raw
}

// Desc returns the descriptor that the array was created with.
func (a *Array) Desc() cu.CUDA_ARRAY3D_DESCRIPTOR {
	if a == nil {
		return cu.CUDA_ARRAY3D_DESCRIPTOR{}
	}
	return a.desc
}

// RowBytes returns the size of one row of elements, in bytes.
func (a *Array) RowBytes() uintptr {
	if a == nil {
		return 0
	}
	return a.desc.Width * uintptr(a.desc.NumChannels) * channelBytes(a.desc.Format)
}

// Bytes returns the size of all elements, in bytes.
func (a *Array) Bytes() uintptr {
	if a == nil {
		return 0
	}
	return a.RowBytes() * max(a.desc.Height, 1) * max(a.desc.Depth, 1)
}

// Context returns the array's context.
func (a *Array) Context() *Context {
	if a == nil {
		return nil
	}
	return a.ctx
}

// Ref returns a reference that keeps the array alive.
func (a *Array) Ref() life.Ref {
	if a == nil {
		return nil
	}
	return (*arrayRef)(a)
}

// arrayRef implements life.Ref. Without it, Array would need an exported Lifetime method.
type arrayRef Array

func (a *arrayRef) Lifetime() *life.Lifetime { return a.life }

// String describes the array.
func (a *Array) String() string {
	if a == nil {
		return "nil array"
	}
	return fmt.Sprintf("%v of %d × %d × %d", a.life, a.desc.Width, a.desc.Height, a.desc.Depth)
}

// Close frees the array once the device has finished with it.
func (a *Array) Close() error {
	if a == nil {
		return nil
	}
	err := a.life.Close()
	runtime.KeepAlive(a)
	return err
}

// open returns the array for use as the source or destination of a copy. It returns an error if the
// array is closed or does not contain the box.
func (a *Array) open(r *Region, width, height, depth uintptr, mode AccessMode) (place, error) {
	if a == nil || a.life == nil {
		return place{}, absentError(a == nil, "array")
	}
	if err := a.life.Check(); err != nil {
		return place{}, err
	}
	rows, layers := max(a.desc.Height, 1), max(a.desc.Depth, 1)
	if r.X+width > a.RowBytes() || r.Y+height > rows || r.Layer+depth > layers {
		return place{}, invalidf("the box of %d × %d × %d at byte %d, row %d, layer %d is outside %v, whose rows have %d bytes",
			width, height, depth, r.X, r.Y, r.Layer, a, a.RowBytes())
	}
	return place{kind: cu.CU_MEMORYTYPE_ARRAY, ctx: a.ctx, array: a.raw, end: a.end(mode)}, nil
}

// end uses the array's handle as the address of the whole array, because the driver does not report
// where the elements are. No other memory has the same address.
func (a *Array) end(mode AccessMode) end {
	return end{a.Ref(), a.life, Access{Addr: uint64(a.raw), Bytes: 1, Mode: mode}}
}

func (a *Array) span() span { return arrayIsNotDevice }

func (a *Array) elemSize() uintptr { return 0 }

var arrayIsNotDevice = notDevice("an array", "copy from or to a buffer")
