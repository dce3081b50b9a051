// Package radix contains the kernels of radix sort.
//
// The method is that of Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
// for GPUs" (2022). Count counts the digits of all keys. Then each Pass sorts by one digit, and reads
// and writes each key once. Its blocks take tiles in order and look back at the counts of earlier
// tiles.
package radix

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

const (
	Bits    = 8
	Digits  = 1 << Bits
	Threads = 384
	warps   = Threads / gpu.WarpSize

	// The number of keys of a thread, for keys of 4 and of 8 bytes.
	items32 = 20
	items64 = 12
	most    = items32

	// Tile32 and Tile64 are the numbers of keys of a block.
	Tile32 = Threads * items32
	Tile64 = Threads * items64

	// MostKeys is the maximum number of keys: a state has 30 bits for a number.
	MostKeys = 1<<30 - 1

	// The head of the workspace contains a counter of tiles for each pass, and then the counts.
	mostPasses = 8
	HeadWords  = mostPasses + mostPasses*Digits
)

// Key lists the types of keys by their bits, and Value those of values. The type uint8 stands for keys
// without values.
type (
	Key   interface{ uint32 | uint64 }
	Value interface{ uint8 | uint32 | uint64 }
)

// flip maps keys to numbers whose unsigned order is that of the keys. For unsigned numbers, negative
// and all are 0. For signed numbers, all is the sign bit. For floating-point numbers, negative also
// contains the other bits, which are inverted if the sign bit is set. If the bits of all are
// inverted, the order is descending.
func flip[K Key](k, negative, all K) K { return k ^ sign(k)&negative ^ all }

// flipBack is the inverse of flip.
func flipBack[K Key](k, negative, all K) K {
	k ^= all
	return k ^ sign(k)&negative
}

// sign returns a word of copies of the sign bit.
func sign[K Key](k K) K {
	if v, wide := any(k).(uint64); wide {
		s := int64(v) >> 63
		return K(s)
	}
	s := int32(k) >> 31
	return K(s)
}

// CountThreads is the number of threads of a block of Count.
const CountThreads = 256

// Count adds the number of occurrences of each value of each digit to the counts in head.
//
//gpu:kernel block=256
//gpu:instance uint32 uint64
//gpu:nobounds
func Count[K Key](t gpu.Thread, head []uint32, keys []K, negative, all K) {
	table := gpu.Shared[[mostPasses * Digits]uint32](t)
	passes := 4
	if _, wide := any(all).(uint64); wide {
		passes = 8
	}
	for p := range passes {
		table[p*Digits+t.ThreadX()] = 0
	}
	t.Sync()
	i, stride := t.GlobalX(), t.GridStrideX()
	for ; i+3*stride < len(keys); i += 4 * stride {
		a, b, c, d := keys[i], keys[i+stride], keys[i+2*stride], keys[i+3*stride]
		countDigits(table, passes, flip(a, negative, all))
		countDigits(table, passes, flip(b, negative, all))
		countDigits(table, passes, flip(c, negative, all))
		countDigits(table, passes, flip(d, negative, all))
	}
	for ; i < len(keys); i += stride {
		countDigits(table, passes, flip(keys[i], negative, all))
	}
	t.Sync()
	for p := range passes {
		if n := table[p*Digits+t.ThreadX()]; n != 0 {
			gpu.AtomicAdd(&head[mostPasses+p*Digits+t.ThreadX()], n)
		}
	}
}

//gpu:nobounds
func countDigits[K Key](table *[mostPasses * Digits]uint32, passes int, k K) {
	for p := range passes {
		gpu.AtomicAdd(&table[p*Digits+int(k>>(p*Bits)&(Digits-1))], 1)
	}
}

// Pass32 sorts keys of 4 bytes by one digit, and moves values with them. The result is in keysOut and
// valuesOut. The states of the pass must be 0. The kernel sets those of the next pass to 0.
//
//gpu:kernel block=384 minblocks=2
//gpu:instance uint8 uint32 uint64
//gpu:nobounds
func Pass32[V Value](t gpu.Thread, keysOut, keys []uint32, valuesOut, values []V, head, states, next []uint32, negative, all, pass uint32) {
	sortTile(t, keysOut, keys, valuesOut, values, head, states, next, negative, all, pass, items32)
}

// Pass64 is like Pass32, for keys of 8 bytes.
//
//gpu:kernel block=384 minblocks=2
//gpu:instance uint8 uint32 uint64
//gpu:nobounds
func Pass64[V Value](t gpu.Thread, keysOut, keys []uint64, valuesOut, values []V, head, states, next []uint32, negative, all uint64, pass uint32) {
	sortTile(t, keysOut, keys, valuesOut, values, head, states, next, negative, all, pass, items64)
}

// sortTile sorts a tile of items keys for each thread. Key j of a lane is element 32*j+lane of the
// warp's part of the tile.
//
//gpu:nobounds
func sortTile[K Key, V Value](t gpu.Thread, keysOut, keys []K, valuesOut, values []V, head, states, next []uint32, negative, all K, pass uint32, items int) {
	taken := gpu.Shared[uint32](t)
	table := gpu.Shared[[warps * Digits]uint32](t)
	starts := gpu.Shared[[Digits]uint32](t)
	buffer := gpu.Shared[[Threads * most]uint32](t)
	tid := t.ThreadX()
	if tid == 0 {
		*taken = gpu.AtomicAdd(&head[pass], 1)
	}
	for w := range warps * Digits / Threads {
		table[w*Threads+tid] = 0
	}
	t.Sync()
	tile := int(*taken)
	begin := tile * Threads * items
	first := begin + t.Warp()*gpu.WarpSize*items + t.Lane()
	shift := pass * Bits

	// The last tile is filled up with keys that come last in every pass.
	var low, high [most]uint32
	for j := range items {
		k := ^K(0)
		if i := first + j*gpu.WarpSize; i < len(keys) {
			k = flip(keys[i], negative, all)
		}
		low[j], high[j] = halves(k)
	}

	// at[j] is first the number of keys with the same digit before key j in the warp, and then the
	// position of key j in the sorted tile.
	var at [most]uint32
	mine := table[t.Warp()*Digits:][:Digits]
	for j := range items {
		at[j] = rank(t, mine, digit(low[j], high[j], shift))
	}
	t.Sync()
	count, before := digitStarts(t, table, starts, head[mostPasses+int(pass)*Digits:], states, tile)
	t.Sync()
	for j := range items {
		at[j] += mine[digit(low[j], high[j], shift)]
	}
	trade(t, buffer, &at, &low, items)
	if is64[K]() {
		trade(t, buffer, &at, &high, items)
	}
	// The other threads wait only here for the counts of earlier tiles.
	if tid < Digits {
		if tile > 0 {
			before = lookBack(states, tile, tid, count)
		}
		next[tile*Digits+tid] = 0
		starts[tid] = before - starts[tid]
	}
	t.Sync()
	var to [most]uint32
	for j := range items {
		i := j*Threads + tid
		to[j] = starts[digit(low[j], high[j], shift)] + uint32(i)
		if begin+i < len(keys) {
			keysOut[to[j]] = flipBack(whole[K](low[j], high[j]), negative, all)
		}
	}
	if isNone[V]() {
		return
	}
	for j := range items {
		if i := first + j*gpu.WarpSize; i < len(keys) {
			low[j], high[j] = halves(values[i])
		}
	}
	trade(t, buffer, &at, &low, items)
	if is64[V]() {
		trade(t, buffer, &at, &high, items)
	}
	for j := range items {
		if begin+j*Threads+tid < len(keys) {
			valuesOut[to[j]] = whole[V](low[j], high[j])
		}
	}
}
