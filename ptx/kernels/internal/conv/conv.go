// Package conv contains the kernels of convolutions.
package conv

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// Float lists the types of elements. The bits of uint16 are those of a float16 or, if the shape says so,
// of a bfloat16. Both are computed in float32. A kernel is for all types, with a loop for each size.
type Float interface{ float32 | uint16 }

// The types of elements.
const (
	F16 = iota
	BF16
	F32
)

// Shape describes a convolution of src, which has Batch images of Groups*Channels planes, with
// Groups*Filters filters. No array has 2^31 elements.
type Shape struct {
	Batch, Groups             int32
	Channels, Filters         int32 // of a group
	Height, Width             int32 // of a plane of src
	FilterHeight, FilterWidth int32
	OutHeight, OutWidth       int32 // of a plane of dst
	StrideY, StrideX          int32
	PaddingY, PaddingX        int32
	DilationY, DilationX      int32
	Type                      int32 // of the elements
}

// products returns the number of products in a sum.
func (s *Shape) products() int32 { return s.Channels * s.FilterHeight * s.FilterWidth }

// pixels returns the number of elements of a plane of dst.
func (s *Shape) pixels() int32 { return s.OutHeight * s.OutWidth }

// quotient divides numbers that are not negative, without a check of b.
func quotient(a, b int32) int32 { return int32(uint32(a) / uint32(max(b, 1))) }

// pixel is the place of an element of dst.
type pixel struct {
	y, x int32 // of the first element under the filter, in the plane of src; negative in the padding
	from int32 // index of that element in src
	to   int32 // index in dst
}

// place returns pixel p of plane 0 of a group in an image.
func (s *Shape) place(image, group, p int32) pixel {
	y := quotient(p, s.OutWidth)
	x := p - y*s.OutWidth
	y, x = y*s.StrideY-s.PaddingY, x*s.StrideX-s.PaddingX
	plane := image*s.Groups + group
	return pixel{
		y: y, x: x, from: plane*s.Channels*s.Height*s.Width + y*s.Width + x,
		to: plane*s.Filters*s.pixels() + p,
	}
}

// nowhere is a coordinate that is outside of src for each element of a filter.
const nowhere = -1 << 30

// tap is an element of a filter.
type tap struct {
	y, x int32 // distance from the first element in the plane of src
	at   int32 // the same in elements, with the planes before it
	_    int32 // 16 bytes are loaded at once
}

// tap returns element k of a filter. Elements after the last one are nowhere.
func (s *Shape) tap(k int32) tap {
	if k >= s.products() {
		return tap{y: nowhere}
	}
	row := quotient(k, s.FilterWidth)
	channel := quotient(row, s.FilterHeight)
	y := (row - channel*s.FilterHeight) * s.DilationY
	x := (k - row*s.FilterWidth) * s.DilationX
	return tap{y: y, x: x, at: (channel*s.Height+y)*s.Width + x}
}

// meets reports whether the element of the filter is over src, not over the padding.
func (e *tap) meets(p *pixel, s *Shape) bool {
	return uint32(p.y+e.y) < uint32(s.Height) && uint32(p.x+e.x) < uint32(s.Width)
}

// size returns the number of bytes of an element.
func size[T Float]() int64 {
	if _, ok := any(T(0)).(uint16); ok {
		return 2
	}
	return 4
}

func toFloat32[T Float](s *Shape, v T) float32 {
	switch v := any(v).(type) {
	case float32:
		return v
	case uint16:
		if s.Type == BF16 {
			return math.Float32frombits(uint32(v) << 16)
		}
		return num.F16FromBits(v).Float32()
	}
	return 0
}

func fromFloat32[T Float](s *Shape, v float32) (x T) {
	switch p := any(&x).(type) {
	case *float32:
		*p = v
	case *uint16:
		if *p = num.ToF16(v).Bits(); s.Type == BF16 {
			*p = num.ToBF16(v).Bits()
		}
	}
	return x
}

// set sets element i of dst.
func (s *Shape) set(dst uint64, i int32, v float32) {
	switch s.Type {
	case F32:
		gpu.ViewAt[float32](dst, math.MaxInt32).Set(int(i), v)
	case BF16:
		gpu.ViewAt[uint16](dst, math.MaxInt32).Set(int(i), num.ToBF16(v).Bits())
	default:
		gpu.ViewAt[uint16](dst, math.MaxInt32).Set(int(i), num.ToF16(v).Bits())
	}
}

func (s *Shape) biasOf(bias uint64, filter int32) float32 {
	switch {
	case bias == 0:
		return 0
	case s.Type == F32:
		return gpu.ViewAt[float32](bias, math.MaxInt32).At(int(filter))
	}
	return toFloat32(s, gpu.ViewAt[uint16](bias, math.MaxInt32).At(int(filter)))
}
