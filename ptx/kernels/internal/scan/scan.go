// Package scan contains the kernel of prefix sums.
package scan

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// Number lists the element types. Sums of signed integers have the same bits as those of unsigned
// ones. The kernels have the bits of floats.
type Number interface {
	float32 | float64 | b32 | b64
}

type (
	b32 = uint32
	b64 = uint64
)

// plus returns a + b. If floats is set, unsigned integers are the bits of floats.
func plus[T Number](floats bool, a, b T) T {
	if floats {
		switch v := any(b).(type) {
		case uint32:
			f := math.Float32frombits(any(a).(uint32)) + math.Float32frombits(v)
			return T(math.Float32bits(f))
		case uint64:
			f := math.Float64frombits(any(a).(uint64)) + math.Float64frombits(v)
			return any(math.Float64bits(f)).(T)
		}
	}
	return a + b
}

// A block computes one tile. A thread computes Each elements that follow each other. Each warp has
// a part of the tile in shared memory, which it loads and stores so that its lanes access
// neighbouring elements.
const (
	Threads = 256
	Each    = 16
	Tile    = Threads * Each

	warps    = Threads / gpu.WarpSize
	warpTile = gpu.WarpSize * Each
)

// Words returns the number of words that the kernel needs for n elements of a type of the given
// size. They must be 0.
func Words(n, size uint64) uint64 {
	return windowsOf(max((n+Tile-1)/Tile, 1)) * group * (size / 4)
}

// Sum computes the prefix sums of src. With exclusive != 0, an element is not part of its own sum.
// wide says that dst and src begin at multiples of 16 bytes, and floats that the elements are floats.
//
// Blocks take tiles in order, so all tiles before that of a block have begun, and a block that
// waits for them makes progress. The order of the additions is fixed, so floating-point sums do not
// depend on which block is faster.
//
//gpu:kernel block=256 name=scan
//gpu:instance b32 b64
func Sum[T Number](t gpu.Thread, dst, src, n, work uint64, exclusive, wide, floats uint32) {
	sums, x := gpu.ViewAt[T](dst, int(n)).Slice(), gpu.ViewAt[T](src, int(n)).Slice()
	states := states[T]{gpu.ViewAt[uint64](work, int(Words(n, size[T]()))).Slice(), floats != 0}
	taken := gpu.Shared[uint32](t)
	parts := gpu.Shared[[warps]T](t)
	start := gpu.Shared[T](t)
	tiles := gpu.Shared[[Tile]T](t)
	if t.ThreadX() == 0 {
		*taken = uint32(gpu.AtomicAdd(&states.words[counter], 1))
	}
	t.Sync()
	tile := int(*taken)
	mine := part[T]{tiles[t.Warp()*warpTile:]}
	first := tile*Tile + t.Warp()*warpTile
	full := wide != 0 && (tile+1)*Tile <= len(x)
	mine.load(t, x, first, full)
	t.SyncWarp()

	var s T
	if floats != 0 {
		s = mine.sumOfWarp(t, true)
	} else {
		s = mine.sumOfWarp(t, false)
	}
	before := gpu.ShuffleUp(t, s, 1) // not a difference, which would round
	if t.Lane() == 0 {
		before = 0
	}
	total := gpu.Shuffle(t, s, gpu.WarpSize-1)
	if t.Lane() == 0 {
		parts[t.Warp()] = total
	}
	t.Sync()
	var base, sum T
	if floats != 0 {
		base, sum = sumsOfParts(t, parts, true)
	} else {
		base, sum = sumsOfParts(t, parts, false)
	}
	if t.Warp() == 0 {
		before := states.startOf(t, *taken, sum)
		if t.Lane() == 0 {
			*start = before
		}
	}
	t.Sync()
	s = plus(floats != 0, plus(floats != 0, base, *start), before)
	if floats != 0 {
		mine.add(t, s, exclusive, true)
	} else {
		mine.add(t, s, exclusive, false)
	}
	t.SyncWarp()
	mine.store(t, sums, first, full)
}

// sumOfWarp returns the sum of the elements of a warp up to those of the thread.
func (p part[T]) sumOfWarp(t gpu.Thread, floats bool) T {
	var s T
	for u := range units[T]() {
		v := packAt(p.x, own[T](t, u))
		for i := range perPack[T]() {
			s = plus(floats, s, v[i])
		}
	}
	for d := 1; d < gpu.WarpSize; d *= 2 {
		if below := gpu.ShuffleUp(t, s, d); t.Lane() >= d {
			s = plus(floats, s, below)
		}
	}
	return s
}

// sumsOfParts returns the sum of the parts before that of the warp, and of all parts.
func sumsOfParts[T Number](t gpu.Thread, parts *[warps]T, floats bool) (base, sum T) {
	for w := range parts {
		if w == t.Warp() {
			base = sum
		}
		sum = plus(floats, sum, parts[w])
	}
	return base, sum
}

// add replaces the elements of a thread by the sums after s.
func (p part[T]) add(t gpu.Thread, s T, exclusive uint32, floats bool) {
	for u := range units[T]() {
		at := own[T](t, u)
		v := packAt(p.x, at)
		for i := range perPack[T]() {
			next := plus(floats, s, v[i])
			if exclusive != 0 {
				v[i] = s
			} else {
				v[i] = next
			}
			s = next
		}
		setPackAt(p.x, at, v)
	}
}
