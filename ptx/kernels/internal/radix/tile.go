package radix

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// rank returns the number of keys with digit d in lower lanes and in earlier calls. counts are the
// counters of the warp. All lanes of the warp call it.
func rank(t gpu.Thread, counts []uint32, d uint32) uint32 {
	same := gpu.FullMask // lanes with the same digit
	for i := 0; i < Bits; i += 2 {
		// 0x80 is the and of three words. Ptxas does not combine two separate ands.
		same = gpu.Lop3(same, lanesLike(t, d, i), lanesLike(t, d, i+1), 0x80)
	}
	r := counts[d] + uint32(bits.OnesCount32(same&(1<<t.Lane()-1)))
	t.SyncWarp() // all lanes have read the counters
	if same>>t.Lane() == 1 {
		counts[d] = r + 1 // the highest of these lanes
	}
	t.SyncWarp()
	return r
}

// lanesLike returns the lanes whose digits have the same bit i.
func lanesLike(t gpu.Thread, d uint32, i int) uint32 {
	set := d&(1<<i) != 0
	lanes := gpu.Ballot(t, set)
	if set {
		return lanes
	}
	return ^lanes
}

// A state of a digit in a tile: a count in the low 30 bits, and what it counts.
const (
	own  = 1 << 30 // the keys of the tile
	all  = 2 << 30 // the keys of the tile and of all tiles before it
	mask = 1<<30 - 1
)

// digitStarts replaces the count of each digit in each warp by the position of the first of these keys
// in the sorted tile, and publishes the counts of the tile. starts receives the position of each digit
// in the sorted tile. For its digit, a thread returns the count in the tile and, in the first tile,
// the number of smaller keys. totals are the counts of all keys.
func digitStarts(t gpu.Thread, table *[warps * Digits]uint32, starts *[Digits]uint32, totals, states []uint32, tile int) (count, smaller uint32) {
	parts := gpu.Shared[[2][Digits / gpu.WarpSize]uint32](t)
	d := t.ThreadX()
	var counts [warps]uint32
	var before uint32
	if d < Digits {
		for w := range warps {
			counts[w] = table[w*Digits+d]
			count += counts[w]
		}
		before = warpScan(t, count) - count
		if tile > 0 {
			gpu.AtomicStore(&states[tile*Digits+d], count|own)
		} else {
			total := totals[d]
			smaller = warpScanRolled(t, total) - total
			if t.Lane() == gpu.WarpSize-1 {
				parts[1][t.Warp()] = smaller + total
			}
		}
		if t.Lane() == gpu.WarpSize-1 {
			parts[0][t.Warp()] = before + count
		}
	}
	t.Sync()
	if d < Digits {
		for w, n := range parts[0] { // a copy, which is loaded as vectors
			if w < t.Warp() {
				before += n
			}
		}
		starts[d] = before
		for w := range warps {
			table[w*Digits+d] = before
			before += counts[w]
		}
		if tile == 0 {
			//gpu:unroll 1
			for w := range t.Warp() {
				smaller += parts[1][w]
			}
			gpu.AtomicStore(&states[d], smaller+count|all)
		}
	}
	return count, smaller
}

// warpScan returns the sum of v over the lanes up to that of t.
func warpScan(t gpu.Thread, v uint32) uint32 {
	for i := 1; i < gpu.WarpSize; i *= 2 {
		if below := gpu.ShuffleUp(t, v, i); t.Lane() >= i {
			v += below
		}
	}
	return v
}

// warpScanRolled is warpScan for few tiles. Its code is shorter.
func warpScanRolled(t gpu.Thread, v uint32) uint32 {
	//gpu:unroll 1
	for i := 1; i < gpu.WarpSize; i *= 2 {
		if below := gpu.ShuffleUp(t, v, i); t.Lane() >= i {
			v += below
		}
	}
	return v
}

// lookBack returns the number of keys that come before those of the thread's digit in the tile. It
// takes and publishes numbers of the digit.
func lookBack(states []uint32, tile, d int, count uint32) uint32 {
	var sum uint32
	for before := tile - 1; ; before-- {
		s := gpu.AtomicLoad(&states[before*Digits+d])
		for s == 0 {
			s = gpu.AtomicLoad(&states[before*Digits+d])
		}
		sum += s & mask
		if s >= all {
			break
		}
	}
	gpu.AtomicStore(&states[tile*Digits+d], sum+count|all)
	return sum
}

// trade moves element j of each thread to its position at[j] in the tile. Then element j of the thread
// with index i is that at position j*Threads+i. With wide, elements have high halves.
func (x *tile) trade(t gpu.Thread, buffer *[Threads * most]uint32, wide bool) {
	x.tradeHalves(t, buffer, x.low)
	if wide {
		x.tradeHalves(t, buffer, x.high)
	}
}

func (x *tile) tradeHalves(t gpu.Thread, buffer *[Threads * most]uint32, v *registers) {
	t.Sync() // for earlier reads of the buffer
	for j := range x.items {
		buffer[x.at[j]] = v[j]
	}
	t.Sync()
	for j := range x.items {
		v[j] = buffer[j*Threads+t.ThreadX()]
	}
}

// digit returns the digit of a key at a bit position.
func digit[K Key](low, high, shift uint32) uint32 {
	if is64[K]() && shift >= 32 {
		low = high
	}
	return low >> (shift & 31) & (Digits - 1)
}

// halves returns the low and the high half of v.
func halves[T Key](v T) (low, high uint32) {
	if v, wide := any(v).(uint64); wide {
		return uint32(v), uint32(v >> 32)
	}
	return uint32(v), 0
}

// whole is the inverse of halves.
func whole[T Key](low, high uint32) T {
	var v T
	switch p := any(&v).(type) {
	case *uint32:
		*p = low
	case *uint64:
		*p = uint64(high)<<32 | uint64(low)
	}
	return v
}

func is64[T Key]() bool {
	var v T
	_, wide := any(v).(uint64)
	return wide
}
