package main

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// convolution is a convolution of batch images with in channels, to out channels. Height is 1 for a 1D
// convolution.
type convolution struct {
	batch, in, out, groups  int
	height, width           int
	filterHeight, filter    int
	stride, padding, dilate int
}

// String returns the part of the name of a case that algorithms.py reads.
func (c convolution) String() string {
	return fmt.Sprintf("n%d c%d k%d g%d %dx%d filter %dx%d s%d p%d d%d", c.batch, c.in, c.out, c.groups, c.height, c.width, c.filterHeight, c.filter, c.stride, c.padding, c.dilate)
}

// scaled returns a small convolution of the same kind.
func (c convolution) scaled(small bool) convolution {
	if small {
		c.batch = 1
		c.height, c.width = min(c.height, 2*c.filterHeight), min(c.width, 2*c.filter)
		most := min(c.in, 8)
		if c.groups > 1 {
			c.groups, c.out = most, most*c.out/c.in
		} else {
			c.out = min(c.out, 20)
		}
		c.in = most
	}
	return c
}

// convolutions are layers of image and audio networks: the first layer, inner layers of several sizes,
// pointwise, depthwise and dilated ones, and one image at a time.
var convolutions = []convolution{
	{32, 3, 64, 1, 224, 224, 7, 7, 2, 3, 1},
	{32, 64, 64, 1, 56, 56, 3, 3, 1, 1, 1},
	{32, 128, 128, 1, 28, 28, 3, 3, 1, 1, 1},
	{32, 256, 256, 1, 14, 14, 3, 3, 1, 1, 1},
	{32, 256, 64, 1, 56, 56, 1, 1, 1, 0, 1},
	{1, 256, 256, 1, 14, 14, 3, 3, 1, 1, 1},
	{32, 144, 144, 144, 56, 56, 3, 3, 1, 1, 1},
	{32, 144, 144, 144, 56, 56, 5, 5, 2, 2, 1},
	{8, 512, 512, 1, 1, 4096, 3, 3, 2, 1, 1},
	{8, 256, 256, 1, 1, 16384, 3, 3, 1, 4, 4},
	{8, 1024, 1024, 1024, 1, 4096, 4, 4, 1, 3, 1},
}

// convolve computes a convolution. Strides, paddings and dilations of 1D convolutions are along the width.
func convolve[T float32 | kernels.F16](m *memory, c convolution) []driver.Op {
	x := kernels.Axis{Stride: c.stride, Padding: c.padding, Dilation: c.dilate}
	y := x
	if c.height == 1 {
		y, c.filterHeight = kernels.Axis{}, 1
	}
	images := func(batch, channels, height, width int) kernels.Images[T] {
		n := batch * channels * height * width
		r, mem := normal[float32](m, n), alloc[T](m, n)
		if m.err == nil {
			m.now(kernels.Cast(mem, r))
		}
		return kernels.Images[T]{Mem: mem, Batch: batch, Channels: channels, Height: height, Width: width}
	}
	src, filters := images(c.batch, c.in, c.height, c.width), images(c.out, c.in/c.groups, c.filterHeight, c.filter)
	dst := images(c.batch, c.out, y.Out(c.height, c.filterHeight), x.Out(c.width, c.filter))
	if m.err != nil {
		return nil
	}
	return m.op(kernels.Conv2D(dst, src, filters, nil, y, x))
}
