package kernels

import (
	"cmp"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/strided"
)

// MaxDims is the maximum number of dimensions of a strided copy. Dimensions that are
// contiguous in both layouts are merged first.
const MaxDims = 8

// Strided is the argument of the strided copy kernel: shape and strides, passed by value.
// A graph node stores the argument, so there is no copy in device memory that could
// become stale. [NewStrided] creates one.
//
// The kernel copies runs of bytes. The number of runs is the product of the extents.
// Strides and offsets are in bytes, and all runs have the same size. Unused dimensions
// come first and have the extent 1.
type Strided struct {
	Runs, Run            uint64 // number of runs, and bytes per run
	To, From             int64  // offsets of the first run
	Extent               [MaxDims]uint64
	ToStride, FromStride [MaxDims]int64
}

var _ = strided.Strided(Strided{}) // the type of the kernel's parameter

// StridedCopy returns the operation that copies an array of the given shape from its
// layout in src to its layout in dst. The copy can be a transposition, a slice, a
// broadcast (stride 0 in src) or a reversal (a negative stride). dst and src may be parts
// of one buffer if the written range does not overlap the read range.
//
// Arguments: 0 dst, 1 src, 2 the [Strided]. It reads src and writes dst. It declares
// accesses to all of dst and src, even if the copy touches only parts. Pass a View to
// narrow the accesses.
func StridedCopy[T Element](dst driver.MemoryOf[T], to Layout, src driver.MemoryOf[T], from Layout, shape []int, again ...*driver.Launch) (*driver.Launch, error) {
	d, origin := operandOf("dst", dst), operandOf("src", src)
	s, err := stridedOf(d, to, origin, from, shape)
	if err != nil {
		return nil, err
	}
	parts := (*strided.Strided)(&s)
	m := maker{&strided.Code, d.mem.Context(), kernelName{"strided_copy"}, reused(again)}
	often := once
	if parts.Tiled() {
		often = several
	}
	l, err := m.elementwise(often, parts.Blocks()*threads, 1, out(&d), in(&origin), arg{copy: &s})
	if err != nil {
		return nil, opError("strided copy", err)
	}
	return l, nil
}

// NewStrided returns the [Strided] argument of a [StridedCopy], which can be used to change the
// argument later. Every element must lie within the memory, and no two elements may have the same
// position in dst.
func NewStrided[T Element](dst driver.MemoryOf[T], to Layout, src driver.MemoryOf[T], from Layout, shape ...int) (Strided, error) {
	return stridedOf(operandOf("dst", dst), to, operandOf("src", src), from, shape)
}

func stridedOf(d operand, to Layout, s operand, from Layout, shape []int) (Strided, error) {
	var room [2 * MaxDims]dim
	dims, err := stridedDims(room[:0], d, to, s, from, shape)
	if err != nil {
		return Strided{}, opError("strided copy", err)
	}
	return newStrided(int64(d.size), to.Offset, from.Offset, dims), nil
}

// dim is one dimension of a strided copy, in elements.
type dim struct{ extent, to, from int64 }

// stridedDims checks a copy and returns its dimensions, merged as far as possible.
func stridedDims(dims []dim, dst operand, to Layout, src operand, from Layout, shape []int) ([]dim, error) {
	if err := usable(dst, src); err != nil {
		return nil, err
	}
	written, err := to.reach(dst, shape)
	if err != nil {
		return nil, err
	}
	read, err := from.reach(src, shape)
	if err != nil {
		return nil, err
	}
	if err := apart(written, read); err != nil {
		return nil, err
	}
	for i, n := range shape {
		dims = append(dims, dim{int64(n), int64(to.Strides[i]), int64(from.Strides[i])})
	}
	// The order of the dimensions does not matter. In this one, the kernel writes neighbours.
	slices.SortStableFunc(dims, func(a, b dim) int { return cmp.Compare(magnitude(b.to), magnitude(a.to)) })
	return merged(dims)
}

// merged drops dimensions of one element and joins adjacent dimensions that are
// contiguous in both layouts.
func merged(dims []dim) ([]dim, error) {
	out := dims[:0]
	for _, d := range dims {
		if d.extent == 1 {
			continue
		}
		if d.to == 0 && d.extent > 1 {
			return nil, invalid("%d elements go to the same place in dst: a stride is 0", d.extent)
		}
		if last := len(out) - 1; last >= 0 && out[last].to == d.to*d.extent && out[last].from == d.from*d.extent {
			out[last] = dim{out[last].extent * d.extent, d.to, d.from}
			continue
		}
		out = append(out, d)
	}
	if n := len(out); n > MaxDims && (n != MaxDims+1 || !out[n-1].inOnePiece()) {
		return nil, invalid("%d dimensions that are not contiguous; at most %d are possible", n, MaxDims)
	}
	return out, nil
}

func (d dim) inOnePiece() bool { return d.to == 1 && d.from == 1 }

func magnitude(x int64) int64 { return max(x, -x) }

// nextReads moves the dimension with the smallest stride in src before the last one, unless it is the
// last one. The kernel transposes the last two dimensions.
func nextReads(dims []dim) {
	last := len(dims) - 1
	best := last
	for i, d := range dims {
		if d.from != 0 && magnitude(d.from) < magnitude(dims[best].from) {
			best = i
		}
	}
	if best < last-1 {
		d := dims[best]
		copy(dims[best:last-1], dims[best+1:last])
		dims[last-1] = d
	}
}

// newStrided converts extents and strides from elements to bytes. If the last dimension is
// contiguous, each run covers that dimension.
func newStrided(size int64, to, from int, dims []dim) Strided {
	s := Strided{Runs: 1, Run: uint64(size), To: int64(to) * size, From: int64(from) * size}
	for i := range s.Extent {
		s.Extent[i] = 1
	}
	if n := len(dims); n > 0 && dims[n-1].inOnePiece() {
		s.Run *= uint64(dims[n-1].extent)
		dims = dims[:n-1]
	}
	nextReads(dims)
	for i, d := range dims {
		at := MaxDims - len(dims) + i
		s.Runs *= uint64(d.extent)
		s.Extent[at], s.ToStride[at], s.FromStride[at] = uint64(d.extent), d.to*size, d.from*size
	}
	return s
}
