package radix

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// ranks sets at[j] to the number of keys with the same digit in the warp before key j, plus 1. counts are the counters
// of the warp, and are 0. All lanes of the warp call it.
func ranks[K Key](t gpu.Thread, x *tile, counts []uint32, keys *[most]K, shift uint32) {
	var digits, same registers // words that contain the digit from bit on, and the lanes with the same digit
	bit := uint32(1)
	for j := range x.items {
		same[j] = gpu.FullMask
		if is64[K]() {
			digits[j] = digit(keys[j], shift)
		} else {
			digits[j] = uint32(keys[j])
			bit = 1 << (shift & 31)
		}
	}
	// A turn has two bits of all keys. Registers have no index, so a loop over keys would be unrolled, with all bits.
	//gpu:unroll 1
	for range Bits / 2 {
		for j := range x.items {
			// 0x80 is the and of three words. Ptxas does not combine two separate ands.
			same[j] = gpu.Lop3(same[j], lanesLike(t, digits[j], bit), lanesLike(t, digits[j], 2*bit), 0x80)
		}
		bit *= 4
	}
	above := ^uint32(1) << t.Lane()
	for j := range x.items {
		count := &counts[digit(keys[j], shift)]
		n := *count + uint32(bits.OnesCount32(same[j]&^above))
		t.SyncWarp() // all lanes have read the counters
		if same[j]&above == 0 {
			*count = n // the highest of these lanes
		}
		t.SyncWarp()
		x.at[j] = n
	}
}

// lanesLike returns the lanes whose words have the same bit.
func lanesLike(t gpu.Thread, w, bit uint32) uint32 {
	set := w&bit != 0
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
// in the sorted tile, minus 1, and publishes the counts of the tile. starts receives the position of each digit
// in the sorted tile. For its digit, a thread returns the count in the tile and, in the first tile,
// the number of smaller keys. totals are the counts of all keys.
func digitStarts(t gpu.Thread, table []uint32, starts *[Digits]uint32, totals, states []uint32, tile int) (count, _ uint32) {
	parts := gpu.Shared[[2][warps]uint32](t)
	d := t.ThreadX() % Digits // threads after the last digit do the same as the first ones, but store nothing
	var counts [warps]uint32
	for w := range counts {
		counts[w] = table[w*Digits+d]
		count += counts[w]
	}
	var total uint32
	if tile == 0 {
		total = totals[d]
	} else if t.ThreadX() < Digits {
		gpu.AtomicStore(&states[tile*Digits+d], count|own)
	}
	// The sums over the lanes up to that of the thread.
	before, smaller := count, total
	//gpu:unroll 1
	for i := 1; i < gpu.WarpSize; i *= 2 {
		a, b := gpu.ShuffleUp(t, before, i), gpu.ShuffleUp(t, smaller, i)
		if t.Lane() >= i {
			before += a
			smaller += b
		}
	}
	if t.Lane() == gpu.WarpSize-1 {
		parts[0][t.Warp()], parts[1][t.Warp()] = before, smaller
	}
	before -= count
	smaller -= total
	t.Sync()
	if t.ThreadX() < Digits {
		for w, n := range parts[0][:Digits/gpu.WarpSize] {
			if w < t.Warp() {
				before += n
			}
		}
		starts[d] = before
		before--
		for w, n := range counts {
			table[w*Digits+d] = before
			before += n
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

// digit returns the digit of a key at a bit position.
func digit[K Key](k K, shift uint32) uint32 {
	if is64[K]() {
		return uint32(k>>(shift&63)) & (Digits - 1)
	}
	return gpu.BytePermute(uint32(k), 0, 0x4440|shift/Bits) // one instruction
}

func is64[T Key]() bool {
	var v T
	_, wide := any(v).(uint64)
	return wide
}
