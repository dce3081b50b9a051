package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/conv"
)

// Images describes memory as a batch of images without gaps. An image has channels, a channel is a plane of
// Height rows, and a row has Width elements (NCHW). A signal has one row, and its Height may be 0.
type Images[T NetFloat] struct {
	Mem                            driver.MemoryOf[T]
	Batch, Channels, Height, Width int
}

// Axis says how a filter moves in one direction. The zero value means a stride of 1, no padding and a
// dilation of 1.
type Axis struct {
	Stride   int // elements from one position to the next
	Padding  int // zeros before the first element and after the last one
	Dilation int // distance of the elements that a filter multiplies
}

// Out returns the number of positions of a filter on n elements, which is the size of the result:
//
//	(n + 2·Padding - Dilation·(filter-1) - 1)/Stride + 1
//
// It returns 0 if the filter does not fit.
func (a Axis) Out(n, filter int) int {
	a = a.usual()
	if last := n + 2*a.Padding - a.Dilation*(filter-1) - 1; last >= 0 {
		return last/a.Stride + 1
	}
	return 0
}

// usual replaces a stride and a dilation of 0.
func (a Axis) usual() Axis {
	if a.Stride == 0 {
		a.Stride = 1
	}
	if a.Dilation == 0 {
		a.Dilation = 1
	}
	return a
}

// Conv2D returns the operation that computes the convolution of images with filters, as neural networks
// define it: filters are not mirrored. The element of dst in image n, channel k, row i and column j is
//
//	bias[k] + sum over c, r, q of filters[k][c][r][q] · src[n][c][i·y.Stride - y.Padding + r·y.Dilation][j·x.Stride - x.Padding + q·x.Dilation]
//
// where elements outside of src are 0. A nil bias means zeros. filters has an image for each channel of dst,
// and [Axis.Out] returns the height and the width of dst. This is conv2d of PyTorch, with the same order of
// elements.
//
// If filters has fewer channels than src, there are groups: with src.Channels/filters.Channels = G, the first
// of G equal parts of the channels of dst depends only on the first of G parts of the channels of src, and
// so on. Filters of one channel are a depthwise convolution.
//
// Sums are computed in float32, in an order that depends only on the shape. Before rounding to T, the error
// of an element is at most n·6e-8 times the sum of the absolute values of its n products, and of the bias.
//
// Each array must have fewer than 2^31 elements, and a padded plane at most 2^30. dst must not overlap the
// other operands.
//
// Arguments: 0 dst, 1 src, 2 filters, 3 bias, and the shape, which must not be changed. It reads all but dst,
// which it writes.
func Conv2D[T NetFloat](dst, src, filters Images[T], bias driver.MemoryOf[T], y, x Axis, again ...*driver.Launch) (*driver.Launch, error) {
	c := convolution{dst: imagesOf("dst", dst), src: imagesOf("src", src), filters: imagesOf("filters", filters), bias: perFilter(bias, filters.Batch), y: y, x: x}
	l, err := c.prepare(convType[T](), reused(again))
	if err != nil {
		return nil, opError("conv 2D", err)
	}
	return l, nil
}

// Conv1D is [Conv2D] for signals: all heights are 0 or 1.
func Conv1D[T NetFloat](dst, src, filters Images[T], bias driver.MemoryOf[T], x Axis, again ...*driver.Launch) (*driver.Launch, error) {
	c := convolution{dst: imagesOf("dst", dst), src: imagesOf("src", src), filters: imagesOf("filters", filters), bias: perFilter(bias, filters.Batch), x: x}
	l, err := c.prepare1D(convType[T](), reused(again))
	if err != nil {
		return nil, opError("conv 1D", err)
	}
	return l, nil
}

// planes is an operand of a convolution.
type planes struct {
	operand
	batch, channels, height, width int
}

func imagesOf[T NetFloat](name string, m Images[T]) planes {
	p := planes{operandOf(name, m.Mem), m.Batch, m.Channels, m.Height, m.Width}
	if p.height == 0 {
		p.height = 1
	}
	if p.err != nil {
		return p
	}
	need, ok := product(p.batch, p.channels, p.height, p.width)
	switch {
	case !ok || need >= 1<<31:
		p.err = invalid("%s is %d × %d × %d × %d; extents are not negative, and their product is less than 2^31: divide the batch", name, p.batch, p.channels, p.height, p.width)
	case need > p.n:
		p.err = invalid("%s is %d × %d × %d × %d, more than the %d elements of its memory", name, p.batch, p.channels, p.height, p.width, p.n)
	default:
		p.set(p.mem.View(0, int(need)*int(p.size)))
	}
	return p
}

// perFilter checks a bias, which may be nil.
func perFilter[T NetFloat](bias driver.MemoryOf[T], filters int) operand {
	if bias == nil {
		return operand{name: "bias", none: true}
	}
	o := operandOf("bias", bias)
	if o.err == nil && o.n != uint64(filters) {
		o.err = invalid("bias has %d elements, but there are %d filters", o.n, filters)
	}
	return o
}

type convolution struct {
	dst, src, filters planes
	bias              operand
	y, x              Axis
}

// convType returns the type of elements of a convolution.
func convType[T NetFloat]() int32 {
	switch typeOf[T]() {
	case typeF32:
		return conv.F32
	case typeBF16:
		return conv.BF16
	}
	return conv.F16
}

func (c *convolution) prepare1D(of int32, again *driver.Launch) (*driver.Launch, error) {
	for _, p := range [3]*planes{&c.dst, &c.src, &c.filters} {
		if p.err == nil && p.height != 1 {
			return nil, invalid("%s has a height of %d; a signal has a Height of 0 or 1 and its length in Width", p.name, p.height)
		}
	}
	return c.prepare(of, again)
}

func (c *convolution) prepare(of int32, again *driver.Launch) (*driver.Launch, error) {
	c.x, c.y = c.x.usual(), c.y.usual()
	if err := c.check(); err != nil {
		return nil, err
	}
	s := c.shape()
	s.Type = of
	kernel, cfg := kernelName{"conv_gemm"}, driver.LaunchConfig{Block: driver.D1(conv.Threads)}
	pixels := uint64(c.dst.height) * uint64(c.dst.width)
	if c.direct() {
		kernel[0] = "conv_direct"
		threads := uint64(c.dst.batch) * uint64(c.dst.channels) * ((pixels + conv.Pixels - 1) / conv.Pixels)
		cfg.Block = driver.D1(conv.DirectThreads)
		cfg.Grid = driver.D1(int(max((threads+conv.DirectThreads-1)/conv.DirectThreads, 1)))
	} else {
		tiles := (pixels*uint64(c.dst.batch) + conv.TilePixels - 1) / conv.TilePixels
		tiles *= (uint64(s.Filters) + conv.TileFilters - 1) / conv.TileFilters * uint64(s.Groups)
		cfg.Grid = driver.D1(int(max(tiles, 1)))
	}
	m := maker{&conv.Code, c.dst.mem.Context(), kernel, again}
	return m.prepare(&cfg, out(&c.dst.operand), in(&c.src.operand), in(&c.filters.operand), optional(&c.bias), arg{conv: &s})
}

// direct reports whether few filters use what is loaded. Otherwise the convolution is a product of
// matrices. Its tiles have TileFilters filters, also where there are fewer, and a product takes a quarter of
// the instructions.
func (c *convolution) direct() bool {
	const cheaper = 4
	filters := c.filters.batch / (c.src.channels / c.filters.channels)
	tiled := (filters + conv.TileFilters - 1) / conv.TileFilters * conv.TileFilters
	return cheaper*filters < tiled
}

// check returns an error if operands do not fit each other.
func (c *convolution) check() error {
	if err := usable(c.dst.operand, c.src.operand, c.filters.operand, c.bias); err != nil {
		return err
	}
	f := &c.filters
	if f.batch == 0 || f.channels == 0 || f.height == 0 || f.width == 0 {
		return invalid("filters is %d × %d × %d × %d; no extent may be 0", f.batch, f.channels, f.height, f.width)
	}
	groups := c.src.channels / f.channels
	switch {
	case c.src.channels == 0 || c.src.channels%f.channels != 0:
		return invalid("src has %d channels, which is not a multiple of the %d channels of filters", c.src.channels, f.channels)
	case f.batch%groups != 0:
		return invalid("%d filters cannot be divided into %d groups (src has %d channels and filters %d)", f.batch, groups, c.src.channels, f.channels)
	case c.dst.channels != f.batch:
		return invalid("dst has %d channels, but there are %d filters", c.dst.channels, f.batch)
	case c.dst.batch != c.src.batch:
		return invalid("dst has %d images, but src has %d", c.dst.batch, c.src.batch)
	}
	if err := fits("height", c.y, c.dst.height, c.src.height, f.height); err != nil {
		return err
	}
	if err := fits("width", c.x, c.dst.width, c.src.width, f.width); err != nil {
		return err
	}
	if n, ok := product(c.src.height+2*c.y.Padding, c.src.width+2*c.x.Padding); !ok || n > 1<<30 {
		return invalid("src and its padding have more than 2^30 elements in a plane")
	}
	return apart(c.dst.operand, c.src.operand, c.filters.operand, c.bias)
}

// fits checks one direction.
func fits(name string, a Axis, dst, src, filter int) error {
	const most = 1 << 30
	switch {
	case a.Stride < 0 || a.Padding < 0 || a.Dilation < 0 || max(a.Stride, a.Padding, a.Dilation) > most:
		return invalid("a stride of %d, a padding of %d and a dilation of %d for the %s; each is from 0 to 2^30", a.Stride, a.Padding, a.Dilation, name)
	case a.Out(src, filter) == 0:
		return invalid("the filters have a %s of %d with dilation %d, more than the %d of src with a padding of %d", name, filter, a.Dilation, src, a.Padding)
	case a.Out(src, filter) != dst:
		return invalid("dst has a %s of %d, but the convolution has %d; use Axis.Out", name, dst, a.Out(src, filter))
	}
	return nil
}

func (c *convolution) shape() conv.Shape {
	groups := c.src.channels / c.filters.channels
	n := func(v int) int32 { return int32(v) }
	return conv.Shape{
		Batch: n(c.dst.batch), Groups: n(groups),
		Channels: n(c.filters.channels), Filters: n(c.filters.batch / groups),
		Height: n(c.src.height), Width: n(c.src.width),
		FilterHeight: n(c.filters.height), FilterWidth: n(c.filters.width),
		OutHeight: n(c.dst.height), OutWidth: n(c.dst.width),
		StrideY: n(c.y.Stride), StrideX: n(c.x.Stride),
		PaddingY: n(c.y.Padding), PaddingX: n(c.x.Padding),
		DilationY: n(c.y.Dilation), DilationX: n(c.x.Dilation),
	}
}
