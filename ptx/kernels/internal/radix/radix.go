// Package radix contains the kernels of radix sort.
//
// The method is that of Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
// for GPUs" (2022). Count counts the digits of all keys. Then each pass sorts by one digit, and reads
// and writes each key once. Its blocks take tiles in order and look back at the counts of earlier
// tiles.
package radix

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

const (
	Bits    = 8
	Digits  = 1 << Bits
	Threads = 384
	warps   = Threads / gpu.WarpSize

	// The number of keys of a thread, for keys of 4 and of 8 bytes.
	items32 = 16
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
	Key   interface{ b32 | b64 }
	Value interface{ none | b32 | b64 }

	none = uint8
	b32  = uint32
	b64  = uint64
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
//gpu:kernel block=256 name=sort_count
//gpu:instance b32 b64
func Count[K Key](t gpu.Thread, work, src, n uint64, negative, all K) {
	head, keys := gpu.ViewAt[uint32](work, HeadWords).Slice(), gpu.ViewAt[K](src, int(n)).Slice()
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

func countDigits[K Key](table *[mostPasses * Digits]uint32, passes int, k K) {
	for p := range passes {
		gpu.AtomicAdd(&table[p*Digits+int(k>>(p*Bits)&(Digits-1))], 1)
	}
}

// Keys32 sorts keys of 4 bytes by one digit. The states of the pass must be 0. The kernel sets those of
// the next pass to 0.
//
//gpu:kernel block=384 minblocks=3 name=sort_b32_none
func Keys32(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all, pass uint32) {
	p := passOf[b32, none](dst, src, n, dstValues, srcValues, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items32)
}

// Pairs32 is like Keys32, and moves values with the keys.
//
//gpu:kernel block=384 minblocks=2 name=sort_b32
//gpu:instance b32 b64
func Pairs32[V Value](t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all, pass uint32) {
	p := passOf[b32, V](dst, src, n, dstValues, srcValues, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items32)
}

// Keys64 is like Keys32, for keys of 8 bytes.
//
//gpu:kernel block=384 minblocks=2 name=sort_b64_none
func Keys64(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all uint64, pass uint32) {
	p := passOf[b64, none](dst, src, n, dstValues, srcValues, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items64)
}

// Pairs64 is like Keys64, and moves values with the keys.
//
//gpu:kernel block=384 minblocks=2 name=sort_b64
//gpu:instance b32 b64
func Pairs64[V Value](t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all uint64, pass uint32) {
	p := passOf[b64, V](dst, src, n, dstValues, srcValues, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items64)
}

// pass holds the arguments of a kernel.
type pass[K Key, V Value] struct {
	keysOut, keys      []K
	valuesOut, values  []V
	head, states, next []uint32
	negative, all      K
	pass               uint32
}

func passOf[K Key, V Value](dst, src, n, dstValues, srcValues, work, states, next uint64) pass[K, V] {
	all := int(n) * Digits
	return pass[K, V]{
		keysOut: gpu.ViewAt[K](dst, int(n)).Slice(), keys: gpu.ViewAt[K](src, int(n)).Slice(),
		valuesOut: gpu.ViewAt[V](dstValues, int(n)).Slice(), values: gpu.ViewAt[V](srcValues, int(n)).Slice(),
		head:   gpu.ViewAt[uint32](work, HeadWords).Slice(),
		states: gpu.ViewAt[uint32](states, all).Slice(), next: gpu.ViewAt[uint32](next, all).Slice(),
	}
}

// sortTile sorts a tile of items keys for each thread. Key j of a lane is element 32*j+lane of the
// warp's part of the tile.
func (p *pass[K, V]) sortTile(t gpu.Thread, items int) {
	taken := gpu.Shared[uint32](t)
	table := gpu.Shared[[warps * Digits]uint32](t)
	starts := gpu.Shared[[Digits]uint32](t)
	buffer := gpu.Shared[[Threads * most]uint32](t)
	tid := t.ThreadX()
	if tid == 0 {
		*taken = gpu.AtomicAdd(&p.head[p.pass], 1)
	}
	t.Sync()
	tile := int(*taken)
	begin := tile * Threads * items
	keys := p.keys[begin:]
	n := int32(min(len(keys), Threads*items))
	first := int32(t.Warp()*gpu.WarpSize*items + t.Lane())
	shift := p.pass * Bits

	// The last tile is filled up with keys that come last in every pass.
	full := n == int32(Threads*items)
	var low, high [most]uint32
	if full {
		for j := range int32(items) {
			low[j], high[j] = halves(flip(keys[first+j*gpu.WarpSize], p.negative, p.all))
		}
	} else {
		for j := range int32(items) {
			k := ^K(0)
			if i := first + j*gpu.WarpSize; i < n {
				k = flip(keys[i], p.negative, p.all)
			}
			low[j], high[j] = halves(k)
		}
	}
	for w := range warps * Digits / Threads {
		table[w*Threads+tid] = 0
	}
	t.Sync() // all keys are read before the first one is used

	// at[j] is first the number of keys with the same digit before key j in the warp, and the digit in
	// the high half. Then it is the position of key j in the sorted tile.
	var at [most]uint32
	mine := table[t.Warp()*Digits:][:Digits]
	for j := range items {
		d := digit[K](low[j], high[j], shift)
		at[j] = rank(t, mine, d) | d<<16
	}
	t.Sync()
	count, before := digitStarts(t, table, starts, p.head[mostPasses+int(p.pass)*Digits:], p.states, tile)
	t.Sync()
	for j := range items {
		at[j] = at[j]&0xffff + mine[at[j]>>16]
	}
	trade(t, buffer, &at, &low, items)
	if is64[K]() {
		trade(t, buffer, &at, &high, items)
	}
	// The other threads wait only here for the counts of earlier tiles.
	if tid < Digits {
		if tile > 0 {
			before = lookBack(p.states, tile, tid, count)
		}
		p.next[tile*Digits+tid] = 0
		starts[tid] = before - starts[tid]
	}
	t.Sync()
	var to [most]uint32
	for j := range int32(items) {
		i := j*Threads + int32(tid)
		to[j] = starts[digit[K](low[j], high[j], shift)] + uint32(i)
		if full || i < n {
			p.keysOut[to[j]] = flipBack(whole[K](low[j], high[j]), p.negative, p.all)
		}
	}
	if isNone[V]() {
		return
	}
	values := p.values[begin:]
	for j := range int32(items) {
		if i := first + j*gpu.WarpSize; i < n {
			low[j], high[j] = halves(values[i])
		}
	}
	trade(t, buffer, &at, &low, items)
	if is64[V]() {
		trade(t, buffer, &at, &high, items)
	}
	for j := range int32(items) {
		if j*Threads+int32(tid) < n {
			p.valuesOut[to[j]] = whole[V](low[j], high[j])
		}
	}
}
