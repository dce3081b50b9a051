package conv

import "github.com/purecuda/cuda/ptx/gpu"

// A block of Gemm computes a tile of dst, TileFilters planes by TilePixels pixels of all images, and reads
// depth products of each sum at a time. A thread computes 8 planes by 8 pixels, as four parts of 4 by 4.
const (
	Threads     = 128
	TileFilters = 64
	TilePixels  = Threads // a thread loads one pixel
	depth       = 8

	width  = TileFilters + 4 // of a row of filters in shared memory: so that stores down a column use different banks
	buffer = depth * (width + TilePixels)
)

// Gemm computes a convolution as a product of matrices: one has the filters as rows, and the other has a
// column for each pixel, with what the filter covers. The second one is never in memory. The address of
// bias may be 0.
//
//gpu:kernel block=128 minblocks=4 name=conv_gemm
func Gemm(t gpu.Thread, dst, src, filters, bias uint64, s Shape) {
	shared := gpu.Shared[[2 * buffer]float32](t)
	taps := gpu.Shared[[2][depth]tap](t)
	// The tiles with the same pixels follow each other, so that they find them in the cache.
	block := int32(t.BlockX())
	rows := int32((uint32(s.Filters) + TileFilters - 1) / TileFilters)
	columns := int32((uint32(s.Batch*s.pixels()) + TilePixels - 1) / TilePixels)
	tile := quotient(block, rows)
	firstFilter := (block - tile*rows) * TileFilters
	group := quotient(tile, columns)
	firstPixel := (tile - group*columns) * TilePixels

	tid := int32(t.ThreadX())
	// A warp computes 32 planes by 64 pixels, with 4 by 8 threads.
	tr := tid/64*16 + tid%32/8*4
	tc := tid/32%2*32 + tid%8*4
	var sum [8][8]float32
	var x pixel
	if s.Type == F32 {
		x = products[float32](t, &s, shared, taps, src, filters, group, firstPixel, firstFilter, tr, tc, &sum)
	} else {
		x = products[uint16](t, &s, shared, taps, src, filters, group, firstPixel, firstFilter, tr, tc, &sum)
	}

	// The sums go through shared memory, 16 planes at a time, so that neighbouring threads store
	// neighbouring pixels.
	mine := shared[tr/4*2*TilePixels+tc:]
	stage := func(i int) {
		for j := range 2 {
			*(*[4]float32)(mine[j*TilePixels:]) = [4]float32(sum[i+4*j][:4])
			*(*[4]float32)(mine[j*TilePixels+64:]) = [4]float32(sum[i+4*j][4:])
		}
	}
	//gpu:unroll 1
	for i := range 4 {
		switch i { // registers have no index
		case 0:
			stage(0)
		case 1:
			stage(1)
		case 2:
			stage(2)
		default:
			stage(3)
		}
		t.Sync()
		//gpu:unroll 1
		for r := range int32(16) {
			filter := firstFilter + r>>1*4 + r&1*32 + int32(i)
			if filter < s.Filters && x.y != nowhere {
				v := shared[r*TilePixels+tid] + s.biasOf(bias, group*s.Filters+filter)
				s.set(dst, x.to+filter*s.pixels(), v)
			}
		}
		t.Sync()
	}
}

// products adds the products of a tile, and returns the pixel of the thread.
func products[T Float](t gpu.Thread, s *Shape, shared *[2 * buffer]float32, taps *[2][depth]tap, src, filters uint64, group, firstPixel, firstFilter, tr, tc int32, sum *[8][8]float32) pixel {
	tid := int32(t.ThreadX())
	x := columnOf[T](s, src, group, firstPixel+tid)
	w := rowOf[T](s, filters, group, firstFilter+tid/2, tid%2*4)
	if tid < depth {
		taps[0][tid] = s.tap(tid)
	}
	t.Sync()
	// While the products of one slab are added, the next one is loaded, and the taps after that are computed.
	// The first iteration only loads.
	now := int32(0)
	for k := int32(-depth); k < s.products(); k += depth {
		x.load(s, &taps[now])
		w.load()
		now ^= 1
		i, j := now*buffer+tr, now*buffer+depth*width+tc
		//gpu:unroll 1
		for p := max(0, -k); p < depth; p++ { // k is -depth at first
			a, b := shared[i:], shared[j:]
			a0, a1 := *(*[4]float32)(a), *(*[4]float32)(a[32:])
			b0, b1 := *(*[4]float32)(b), *(*[4]float32)(b[64:])
			i, j = i+width, j+TilePixels
			for i := range 4 {
				for j := range 4 {
					sum[i][j] += a0[i] * b0[j]
					sum[i][j+4] += a0[i] * b1[j]
					sum[i+4][j] += a1[i] * b0[j]
					sum[i+4][j+4] += a1[i] * b1[j]
				}
			}
		}
		x.store(s, shared[(now^1)*buffer+depth*width+tid:])
		w.store(s, shared[(now^1)*buffer+tid%2*4*width+tid/2:])
		if tid < depth {
			taps[now][tid] = s.tap(k + 2*depth + tid)
		}
		t.Sync()
	}
	return x.pixel
}

// column loads what a filter covers at one pixel.
type column[T Float] struct {
	pixel
	first uint64 // address of the first element under the filter
	v     [depth]T
}

func columnOf[T Float](s *Shape, src uint64, group, p int32) *column[T] {
	image := quotient(p, s.pixels())
	c := &column[T]{pixel: s.place(image, group, p-image*s.pixels())}
	c.first = src + uint64(int64(c.from)*size[T]())
	if image >= s.Batch {
		c.y = nowhere
	}
	return c
}

// load loads the elements at taps. Those in the padding and nowhere are 0. The loads are in the second
// branches, because an assignment after them would wait for them.
func (c *column[T]) load(s *Shape, taps *[depth]tap) {
	for i := range c.v {
		if e := taps[i]; !e.meets(&c.pixel, s) {
			c.v[i] = 0
		} else {
			c.v[i] = gpu.ViewAt[T](c.first+uint64(int64(e.at)*size[T]()), 1).At(0)
		}
	}
}

func (c *column[T]) store(s *Shape, to []float32) {
	for i := range c.v {
		to[i*TilePixels] = toFloat32(s, c.v[i])
	}
}

// row loads four elements of a filter at a time, of each slab.
type row[T Float] struct {
	next uint64
	left int32
	v    [4]T
}

func rowOf[T Float](s *Shape, filters uint64, group, filter, begin int32) *row[T] {
	first := (group*s.Filters+filter)*s.products() + begin
	r := &row[T]{next: filters + uint64(int64(first)*size[T]()), left: s.products() - begin}
	if filter >= s.Filters {
		r.left = 0
	}
	return r
}

func (r *row[T]) load() {
	w := gpu.ViewAt[T](r.next, 4)
	for i := range r.v {
		if r.left <= int32(i) {
			r.v[i] = 0
		} else {
			r.v[i] = w.At(i)
		}
	}
	r.left -= depth
	r.next += uint64(depth * size[T]())
}

func (r *row[T]) store(s *Shape, to []float32) {
	for i := range r.v {
		to[i*width] = toFloat32(s, r.v[i])
	}
}
