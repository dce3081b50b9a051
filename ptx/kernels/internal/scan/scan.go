// Package scan contains the kernel of prefix sums.
package scan

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// Number lists the element types. Sums of signed integers have the same bits as those of unsigned ones.
type Number interface {
	f32 | f64 | u32 | u64
}

type (
	f32 = float32
	f64 = float64
	u32 = uint32
	u64 = uint64
)

// A block computes one tile. Each warp computes Packs packs per lane, and a pack has PackSize
// elements. The packs of a warp follow each other, so that a warp loads 32 packs at a time.
const (
	Threads  = 256
	PackSize = 4
	Packs    = 4
	Tile     = Threads * PackSize * Packs

	warps    = Threads / gpu.WarpSize
	warpTile = gpu.WarpSize * PackSize * Packs
)

// Words returns the number of words that the kernel needs for n elements of a type of the given
// size. They must be 0. The first one counts the tiles that blocks have begun. Two words for each
// tile, or one for types of 4 bytes, contain its state.
func Words(n, size uint64) uint64 { return 1 + max((n+Tile-1)/Tile, 1)*(size/4) }

// Sum32 computes the prefix sums of src. With exclusive != 0, an element is not part of its own sum.
// wide says that dst and src begin at multiples of 16 bytes.
//
// Blocks take tiles in order, so all tiles before that of a block have begun, and a block that waits
// for them makes progress. A tile adds the sums of earlier tiles always in the same order. Therefore
// floating-point sums do not depend on which block is faster.
//
//gpu:kernel block=256 minblocks=5 name=scan
//gpu:instance f32 u32
func Sum32[T Number](t gpu.Thread, dst, src, n, work uint64, exclusive, wide uint32) {
	prefixSums[T](t, dst, src, n, work, exclusive, wide)
}

// Sum64 is like Sum32. A block needs more registers.
//
//gpu:kernel block=256 name=scan
//gpu:instance f64 u64
func Sum64[T Number](t gpu.Thread, dst, src, n, work uint64, exclusive, wide uint32) {
	prefixSums[T](t, dst, src, n, work, exclusive, wide)
}

func prefixSums[T Number](t gpu.Thread, dst, src, n, work uint64, exclusive, wide uint32) {
	sums, x := gpu.ViewAt[T](dst, int(n)).Slice(), gpu.ViewAt[T](src, int(n)).Slice()
	states := gpu.ViewAt[uint64](work, int(Words(n, size[T]()))).Slice()
	taken := gpu.Shared[uint32](t)
	parts := gpu.Shared[[warps]T](t)
	start := gpu.Shared[T](t)
	if t.ThreadX() == 0 {
		*taken = uint32(gpu.AtomicAdd(&states[0], 1))
	}
	t.Sync()
	tile := int(*taken)
	states = states[1:]
	first := tile*Tile + t.Warp()*warpTile + t.Lane()*PackSize

	var v [Packs][PackSize]T
	full := wide != 0 && (tile+1)*Tile <= len(x)
	if full {
		for j := range v {
			v[j] = *(*[PackSize]T)(x[first+j*gpu.WarpSize*PackSize:])
		}
	} else {
		rest := x[min(first, len(x)):]
		for j := range v {
			for i := range v[j] {
				if at := j*gpu.WarpSize*PackSize + i; at < len(rest) {
					v[j][i] = rest[at]
				}
			}
		}
	}

	// before[j] is the sum of the elements of the warp before v[j].
	var before [Packs]T
	var total T
	for j := range v {
		own := v[j][0] + v[j][1] + v[j][2] + v[j][3]
		s := own
		for d := 1; d < gpu.WarpSize; d *= 2 {
			if below := gpu.ShuffleUp(t, s, d); t.Lane() >= d {
				s += below
			}
		}
		// Not s - own, which would round.
		up := gpu.ShuffleUp(t, s, 1)
		if t.Lane() == 0 {
			up = 0
		}
		before[j] = total + up
		total += gpu.Shuffle(t, s, gpu.WarpSize-1)
	}
	if t.Lane() == 0 {
		parts[t.Warp()] = total
	}
	t.Sync()
	var base T
	var sum T
	for w := range parts {
		if w == t.Warp() {
			base = sum
		}
		sum += parts[w]
	}
	if t.Warp() == 0 {
		s := startOf(t, states, tile, sum)
		if t.Lane() == 0 {
			*start = s
		}
	}
	t.Sync()
	base += *start
	for j := range v {
		s := base + before[j]
		for i := range v[j] {
			next := s + v[j][i]
			if exclusive != 0 {
				v[j][i] = s
			} else {
				v[j][i] = next
			}
			s = next
		}
	}
	if full {
		for j := range v {
			*(*[PackSize]T)(sums[first+j*gpu.WarpSize*PackSize:]) = v[j]
		}
		return
	}
	rest := sums[min(first, len(sums)):]
	for j := range v {
		for i := range v[j] {
			if at := j*gpu.WarpSize*PackSize + i; at < len(rest) {
				rest[at] = v[j][i]
			}
		}
	}
}
