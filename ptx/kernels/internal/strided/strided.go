// Package strided contains the kernel of kernels.StridedCopy.
package strided

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// dims is the number of dimensions.
const dims = 8

// Strided describes a copy: see kernels.Strided. The distances in the destination are smallest in the
// last dimension. The distances in the source are smallest in the last dimension but one, or in the
// last. Other orders are copied as well, but more slowly.
type Strided struct {
	Runs, Run            uint64
	To, From             int64
	Extent               [dims]uint64
	ToStride, FromStride [dims]int64
}

const (
	logThreads = 8
	threads    = 1 << logThreads
	// each is the number of units that a thread copies at a time, if a row has so many.
	each = pack.Units
	// minTile is the smallest extent for which tiles are faster than rows.
	minTile = 16
)

//gpu:kernel block=256 name=strided_copy
func stridedCopy(t gpu.Thread, dst, src uint64, s Strided) {
	if s.Runs == 0 || s.Run == 0 {
		return
	}
	dst += uint64(s.To)
	src += uint64(s.From)
	all := dst | src | s.Run
	// In shared memory, the dimensions can be indexed.
	list := gpu.Shared[[dims]dim](t)
	for d := range dims {
		if s.Extent[d] != 1 {
			all |= uint64(s.ToStride[d] | s.FromStride[d])
		}
		if t.ThreadX() == 0 {
			list[d] = dim{s.Extent[d], uint64(s.ToStride[d]), uint64(s.FromStride[d])}
		}
	}
	t.Sync()
	c := &shape{list, s.Runs, s.Run}
	unit := pack.UnitOf(all)
	if int(s.Run) <= unit && s.Tiled() {
		tiles(t, dst, src, c, int(s.Run))
		return
	}
	rows(t, dst, src, c, unit)
}

// Tiled reports whether the last two dimensions are copied through tiles.
func (s *Strided) Tiled() bool {
	return s.Run <= 8 && s.Extent[dims-2] >= minTile && s.Extent[dims-1] >= minTile &&
		magnitude(s.FromStride[dims-2]) < magnitude(s.FromStride[dims-1])
}

// Blocks returns the number of blocks for a copy. The kernel works with any number.
func (s *Strided) Blocks() uint64 {
	if s.Runs > 0 && s.Tiled() {
		x, y, side := s.Extent[dims-2], s.Extent[dims-1], uint64(pack.TileSide(int(s.Run)))
		return s.Runs / x / y * ((x + side - 1) / side) * ((y + side - 1) / side)
	}
	// Units of 16 bytes. Of smaller ones, a block copies several parts.
	const bytes = threads * each * 16
	return (s.Runs*s.Run + bytes - 1) / bytes
}

func magnitude(x int64) int64 { return max(x, -x) }

type dim struct{ extent, to, from uint64 }

// shape is a Strided without the positions.
type shape struct {
	dims      *[dims]dim
	runs, run uint64
}

// moved returns the addresses of element i of the first n dimensions.
func moved(dst, src, i uint64, n int, s *shape) (to, from uint64) {
	for d := n - 1; i > 0; d-- {
		dim := &s.dims[d]
		left, at := uint64(0), i
		if i >= dim.extent {
			left = pack.Div(i, dim.extent)
			at = i - left*dim.extent
		}
		dst += at * dim.to
		src += at * dim.from
		i = left
	}
	return dst, src
}

// tiles copies elements of one run through tiles of the last two dimensions. The source is contiguous,
// or almost so, along the first of them, and the destination along the second.
func tiles(t gpu.Thread, dst, src uint64, s *shape, size int) {
	x, y := &s.dims[dims-2], &s.dims[dims-1]
	side := uint64(pack.TileSide(size))
	across, down := (x.extent+side-1)/side, (y.extent+side-1)/side
	outer := pack.Div(s.runs, x.extent*y.extent)
	for n := uint64(t.BlockX()); n < outer*across*down; n += uint64(t.GridDimX()) {
		above := pack.Div(n, across)
		o := pack.Div(above, down)
		j, i := (n-above*across)*side, (above-o*down)*side
		to, from := moved(dst, src, o, dims-2, s)
		to += j*x.to + i*y.to
		from += j*x.from + i*y.from
		width, height := int(x.extent-j), int(y.extent-i)
		if size == 8 {
			pack.Tile[uint64](t, to, from, int(y.to), int(x.to), int(x.from), int(y.from), width, height, size)
		} else {
			pack.Tile[uint32](t, to, from, int(y.to), int(x.to), int(x.from), int(y.from), width, height, size)
		}
	}
}

// rows copies runs, or the elements of the last dimension if a run is one unit. Each row has some lanes
// of the block, which copy several units each.
func rows(t gpu.Thread, dst, src uint64, s *shape, unit int) {
	shift := bits.TrailingZeros32(uint32(unit))
	long, n := s.run>>shift, dims
	outer, toStep, fromStep := s.runs, uint64(unit), uint64(unit)
	if long == 1 {
		last := &s.dims[dims-1]
		long, n = last.extent, dims-1
		outer = pack.Div(s.runs, long)
		toStep, fromStep = last.to, last.from
	}
	// A row has 2^lanes lanes. The mask only tells the compiler that the number is small.
	lanes := min(bits.Len64((long-1)/each), logThreads) & 15
	rowsOfBlock := logThreads - min(lanes, logThreads)
	parts := (long + each<<lanes - 1) >> lanes / each
	lane := uint64(t.ThreadX()) & (1<<lanes - 1)
	for i := uint64(t.BlockX())<<rowsOfBlock + uint64(t.ThreadX())>>lanes; i < outer*parts; i += uint64(t.GridDimX()) << rowsOfBlock {
		row, part := i, uint64(0)
		if parts > 1 {
			row = pack.Div(i, parts)
			part = i - row*parts
		}
		to, from := moved(dst, src, row, n, s)
		first := part*each<<lanes + lane
		count := 0
		if first < long {
			count = int(min((long-first-1)>>lanes+1, each))
		}
		w := pack.LoadUnits(from+first*fromStep, fromStep<<lanes, count, unit)
		pack.StoreUnits(to+first*toStep, toStep<<lanes, count, unit, &w)
	}
}
