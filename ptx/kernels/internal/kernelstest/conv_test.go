package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

// convCase is a convolution of images with channels[0] channels by filters of channels[1] channels, to
// channels[2] channels.
type convCase struct {
	batch         int
	channels      [3]int
	height, width int
	filter        [2]int
	y, x          kernels.Axis
}

var convCases = []convCase{
	{batch: 1, channels: [3]int{1, 1, 1}, height: 1, width: 1, filter: [2]int{1, 1}},
	{batch: 0, channels: [3]int{4, 4, 64}, height: 5, width: 5, filter: [2]int{3, 3}},
	{batch: 0, channels: [3]int{4, 4, 1}, height: 5, width: 5, filter: [2]int{3, 3}},
	// products of matrices
	{batch: 1, channels: [3]int{3, 3, 64}, height: 9, width: 11, filter: [2]int{3, 3}, y: kernels.Axis{Padding: 1}, x: kernels.Axis{Padding: 1}},
	{batch: 3, channels: [3]int{5, 5, 70}, height: 7, width: 8, filter: [2]int{1, 1}},
	{batch: 2, channels: [3]int{4, 4, 16}, height: 13, width: 10, filter: [2]int{3, 2}, y: kernels.Axis{Stride: 2, Padding: 2}, x: kernels.Axis{Stride: 3, Padding: 1, Dilation: 2}},
	{batch: 2, channels: [3]int{6, 3, 40}, height: 6, width: 9, filter: [2]int{2, 5}, y: kernels.Axis{Dilation: 3}, x: kernels.Axis{Padding: 4}},
	{batch: 2, channels: [3]int{2, 2, 130}, height: 16, width: 16, filter: [2]int{7, 7}, y: kernels.Axis{Stride: 2, Padding: 3}, x: kernels.Axis{Stride: 2, Padding: 3}},
	{batch: 1, channels: [3]int{33, 33, 17}, height: 3, width: 3, filter: [2]int{3, 3}, y: kernels.Axis{Padding: 2}, x: kernels.Axis{Padding: 2}},
	// few filters in a group
	{batch: 2, channels: [3]int{8, 1, 8}, height: 9, width: 7, filter: [2]int{3, 3}, y: kernels.Axis{Padding: 1}, x: kernels.Axis{Padding: 1}},
	{batch: 2, channels: [3]int{6, 1, 12}, height: 10, width: 9, filter: [2]int{4, 3}, y: kernels.Axis{Stride: 2, Dilation: 2, Padding: 5}, x: kernels.Axis{Stride: 4, Padding: 6, Dilation: 3}},
	{batch: 3, channels: [3]int{4, 2, 6}, height: 5, width: 33, filter: [2]int{5, 1}, x: kernels.Axis{Padding: 2}},
	{batch: 1, channels: [3]int{7, 7, 3}, height: 20, width: 31, filter: [2]int{3, 3}, y: kernels.Axis{Padding: 1}, x: kernels.Axis{Stride: 2}},
}

func TestConvolutions(t *testing.T) {
	each(t, func(k *kit) {
		for i, c := range convCases {
			convolve[float32](k, c, i%2 == 0)
			convolve[kernels.F16](k, c, i%2 == 1)
			convolve[kernels.BF16](k, c, i%3 == 0)
		}
		if !k.emulated() {
			same := kernels.Axis{Padding: 1}
			convolve[float32](k, convCase{4, [3]int{64, 64, 128}, 28, 28, [2]int{3, 3}, same, same}, true)
			convolve[float32](k, convCase{2, [3]int{96, 1, 96}, 56, 57, [2]int{3, 3}, same, same}, true)
		}
	})
}

// convolve compares the convolution with sums in float64. All operands begin at odd elements, and NaNs
// around src and the filters show reads outside of them.
func convolve[T kernels.NetFloat](k *kit, c convCase, biased bool) {
	k.Helper()
	height, width := c.y.Out(c.height, c.filter[0]), c.x.Out(c.width, c.filter[1])
	images := func(batch, channels, height, width int, seed uint64) (kernels.Images[T], []float64) {
		n := batch * channels * height * width
		values := append(append([]float64{math.NaN()}, random(n, seed)...), math.NaN())
		e := elements[T](values)
		for i := range values {
			values[i] = number(e[i])
		}
		mem := device(k, 0, e).View(1, 1+n)
		return kernels.Images[T]{Mem: mem, Batch: batch, Channels: channels, Height: height, Width: width}, values[1 : 1+n]
	}
	src, xs := images(c.batch, c.channels[0], c.height, c.width, 1)
	filters, ws := images(c.channels[2], c.channels[1], c.filter[0], c.filter[1], 2)
	n := c.batch * c.channels[2] * height * width
	all := device(k, 0, elements[T](append([]float64{gapValue}, append(make([]float64, n), gapValue)...)))
	dst := kernels.Images[T]{Mem: all.View(1, 1+n), Batch: c.batch, Channels: c.channels[2], Height: height, Width: width}
	bias, bs := kernels.Images[T]{}, []float64(nil)
	if biased {
		bias, bs = images(1, c.channels[2], 1, 1, 3)
	}
	k.run(kernels.Conv2D(dst, src, filters, bias.Mem, c.y, c.x))
	got := host(k, all)
	if number(got[0]) != gapValue || number(got[n+1]) != gapValue {
		k.Fatalf("%T, %+v: memory around the result was written", got[0], c)
	}
	for i, v := range got[1 : 1+n] {
		col, row := i%width, i/width%height
		filter, image := i/width/height%c.channels[2], i/width/height/c.channels[2]
		want, size, terms := at(bs, filter, 0), math.Abs(at(bs, filter, 0)), 1
		first := filter / (c.channels[2] / (c.channels[0] / c.channels[1])) * c.channels[1]
		for ch := range c.channels[1] {
			for r := range c.filter[0] {
				for q := range c.filter[1] {
					y := row*max(c.y.Stride, 1) - c.y.Padding + r*max(c.y.Dilation, 1)
					x := col*max(c.x.Stride, 1) - c.x.Padding + q*max(c.x.Dilation, 1)
					terms++
					if y < 0 || y >= c.height || x < 0 || x >= c.width {
						continue
					}
					p := ws[((filter*c.channels[1]+ch)*c.filter[0]+r)*c.filter[1]+q] *
						xs[((image*c.channels[0]+first+ch)*c.height+y)*c.width+x]
					want += p
					size += math.Abs(p)
				}
			}
		}
		if off := float64(terms) * 6e-8 * size; !near[T](number(v), want, off) {
			k.far(number(v), want, off, "%T, %+v, bias %t: image %d, channel %d, row %d, column %d", v, c, biased, image, filter, row, col)
			return
		}
	}
}

// A signal is an image with one row.
func TestConv1D(t *testing.T) {
	each(t, func(k *kit) {
		x := device(k, 0, elements[float32](random(2*3*29, 1)))
		w := device(k, 0, elements[float32](random(20*3*4, 2)))
		a := kernels.Axis{Stride: 2, Padding: 3, Dilation: 2}
		n := a.Out(29, 4)
		if n != 15 {
			k.Errorf("%d positions, want 15", n)
		}
		y, z := alloc[float32](k, 2*20*n), alloc[float32](k, 2*20*n)
		signal := kernels.Images[float32]{Mem: x, Batch: 2, Channels: 3, Width: 29}
		filters := kernels.Images[float32]{Mem: w, Batch: 20, Channels: 3, Width: 4}
		k.run(kernels.Conv1D(kernels.Images[float32]{Mem: y, Batch: 2, Channels: 20, Width: n}, signal, filters, nil, a))
		signal.Height, filters.Height = 1, 1
		k.run(kernels.Conv2D(kernels.Images[float32]{Mem: z, Batch: 2, Channels: 20, Height: 1, Width: n}, signal, filters, nil, kernels.Axis{}, a))
		want := host(k, z)
		compare(k, "conv 1D", host(k, y), func(i int) float32 { return want[i] })
	})
}

func TestAxisOut(t *testing.T) {
	for _, c := range []struct {
		a               kernels.Axis
		n, filter, want int
	}{
		{kernels.Axis{}, 5, 3, 3}, {kernels.Axis{}, 3, 3, 1}, {kernels.Axis{}, 2, 3, 0}, {kernels.Axis{Padding: 1}, 5, 3, 5},
		{kernels.Axis{Stride: 2, Padding: 3}, 224, 7, 112}, {kernels.Axis{Dilation: 2}, 5, 3, 1}, {kernels.Axis{Dilation: 2}, 4, 3, 0},
		{kernels.Axis{Stride: 3}, 10, 1, 4}, {kernels.Axis{Stride: 9}, 3, 3, 1},
	} {
		if got := c.a.Out(c.n, c.filter); got != c.want {
			t.Errorf("%+v: %d elements and a filter of %d have %d positions, want %d", c.a, c.n, c.filter, got, c.want)
		}
	}
}

func TestWrongConvolutions(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 4096)
		type images = kernels.Images[float32]
		at := func(begin, batch, channels, height, width int) images {
			return images{Mem: b.View(begin, 4096), Batch: batch, Channels: channels, Height: height, Width: width}
		}
		check := func(dst, src, filters images, y, x kernels.Axis, words ...string) {
			k.Helper()
			_, err := kernels.Conv2D(dst, src, filters, nil, y, x)
			k.refused(err, append(words, "conv 2D")...)
		}
		var a kernels.Axis
		dst, src, filters := at(0, 2, 6, 3, 5), at(1000, 2, 4, 5, 6), at(2000, 6, 2, 3, 2)
		k.made(kernels.Conv2D(dst, src, filters, b.View(3000, 3006), a, a))
		check(images{Batch: 1}, src, filters, a, a, "dst is nil")
		check(at(0, 2, 6, 3, 4), src, filters, a, a, "dst has a width of 4", "has 5", "Axis.Out")
		check(at(0, 2, 6, 4, 5), src, filters, a, a, "dst has a height of 4", "has 3")
		check(at(0, 2, 5, 3, 5), src, filters, a, a, "dst has 5 channels", "6 filters")
		check(at(0, 3, 6, 3, 5), src, filters, a, a, "dst has 3 images", "src has 2")
		check(dst, at(1000, 2, 3, 5, 6), filters, a, a, "src has 3 channels", "the 2 channels of filters")
		check(dst, src, at(2000, 5, 2, 3, 2), a, a, "5 filters", "2 groups")
		check(dst, src, at(2000, 6, 0, 3, 2), a, a, "filters is 6 × 0 × 3 × 2", "0")
		check(dst, src, at(2000, 6, 2, 6, 2), a, a, "height of 6", "the 5 of src")
		check(dst, src, filters, kernels.Axis{Dilation: 3}, a, "dilation 3", "padding of 0")
		check(dst, src, filters, a, kernels.Axis{Stride: -1}, "a stride of -1")
		check(dst, src, filters, kernels.Axis{Padding: 1 << 29}, kernels.Axis{Padding: 1 << 29}, "dst has a height")
		check(at(1900, 2, 6, 3, 5), src, filters, a, a, "dst and filters overlap")
		check(at(1000, 2, 6, 3, 5), src, filters, a, a, "dst and src overlap")
		check(at(4000, 2, 6, 3, 5), src, filters, a, a, "dst is 2 × 6 × 3 × 5", "96 elements")
		check(at(0, 2, -6, 3, 5), src, filters, a, a, "dst is 2 × -6 × 3 × 5")
		check(at(0, 1<<20, 1<<20, 3, 5), src, filters, a, a, "2^31")
		_, err := kernels.Conv2D(dst, src, filters, b.View(3000, 3005), a, a)
		k.refused(err, "bias has 5 elements", "6 filters")
		_, err = kernels.Conv2D(dst, src, filters, b.View(100, 106), a, a)
		k.refused(err, "dst and bias overlap")
		_, err = kernels.Conv1D(dst, src, filters, nil, a)
		k.refused(err, "conv 1D", "height of 3", "Width")
	})
}
