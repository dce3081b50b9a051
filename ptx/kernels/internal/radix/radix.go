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

// Key lists the types of keys by their bits.
type (
	Key interface{ b32 | b64 }
	b32 = uint32
	b64 = uint64
)

// flip maps keys to numbers whose unsigned order is that of the keys. For unsigned numbers, negative
// and all are 0. For signed numbers, all is the sign bit. For floating-point numbers, negative also
// contains the other bits, which are inverted if the sign bit is set. If the bits of all are
// inverted, the order is descending.
func flip[K Key](k, negative, all K) K { return flipNegative(k, negative) ^ all }

// flipBack is the inverse of flip.
func flipBack[K Key](k, negative, all K) K {
	return flipNegative(k^all, negative)
}

// flipNegative inverts bits of k if the sign bit is set.
func flipNegative[K Key](k, negative K) K {
	if v, narrow := any(k).(uint32); narrow {
		const table = 0x78 // of a ^ b&c
		return K(gpu.Lop3(v, uint32(sign(k)), uint32(negative), table))
	}
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
	//gpu:unroll 1
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
	//gpu:unroll 1
	for ; i < len(keys); i += stride {
		k := flip(keys[i], negative, all)
		//gpu:unroll 1
		for p := range passes {
			gpu.AtomicAdd(&table[p*Digits+int(k&(Digits-1))], 1)
			k >>= Bits
		}
	}
	t.Sync()
	//gpu:unroll 1
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
//gpu:kernel block=384 minblocks=3 name=sort_b32
func Keys32(t gpu.Thread, dst, src, n, _, _, work, states, next uint64, negative, all, pass, _ uint32) {
	p := passOf[b32](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items32)
}

// Pairs32 is like Keys32, and moves values of 4 or 8 bytes with the keys.
//
//gpu:kernel block=384 minblocks=2 name=sort_pairs_b32
func Pairs32(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all, pass, valueSize uint32) {
	p := passOf[b32](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.values = values{dstValues, srcValues, int(n), valueSize}
	p.sortTile(t, items32)
}

// Sort64 is like Pairs32, for keys of 8 bytes. If there are no values, valueSize is 0.
//
//gpu:kernel block=384 minblocks=2 name=sort_b64
func Sort64(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all uint64, pass, valueSize uint32) {
	p := passOf[b64](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.values = values{dstValues, srcValues, int(n), valueSize}
	p.sortTile(t, items64)
}

// pass holds the arguments of a kernel.
type pass[K Key] struct {
	keysOut, keys      []K
	values             values
	head, states, next []uint32
	negative, all      K
	pass               uint32
}

// values are n numbers of a size in bytes, which move with the keys. A size of 0 means none.
type values struct {
	dst, src uint64
	n        int
	size     uint32
}

func passOf[K Key](dst, src, n, work, states, next uint64) pass[K] {
	all := int(n) * Digits
	return pass[K]{
		keysOut: gpu.ViewAt[K](dst, int(n)).Slice(), keys: gpu.ViewAt[K](src, int(n)).Slice(),
		head:   gpu.ViewAt[uint32](work, HeadWords).Slice(),
		states: gpu.ViewAt[uint32](states, all).Slice(), next: gpu.ViewAt[uint32](next, all).Slice(),
	}
}

// registers holds a number for each key of a thread.
type registers = [most]uint32

// tile is what a thread holds of a tile.
type tile struct {
	low, high *registers // halves of keys, or of values
	at        *registers // the position of each of the thread's own keys in the sorted tile
	to        *registers // the index in dst of elements tid, Threads+tid and so on of the sorted tile
	n         int32      // number of keys
	first     int32      // position of the thread's first key. Key j of a lane is element 32*j+lane of the warp's part of the tile.
	items     int
}

// sortTile sorts a tile of items keys for each thread.
func (p *pass[K]) sortTile(t gpu.Thread, items int) {
	taken := gpu.Shared[uint32](t)
	table := gpu.Shared[[warps * Digits]uint32](t)
	starts := gpu.Shared[[Digits]uint32](t)
	buffer := gpu.Shared[[Threads * most]uint32](t)
	tid := t.ThreadX()
	if tid == 0 {
		*taken = gpu.AtomicAdd(&p.head[p.pass], 1)
	}
	t.Sync()
	number := int(*taken)
	begin := number * Threads * items
	keys := p.keys[begin:]
	var low, high, at, to registers
	x := tile{low: &low, high: &high, at: &at, to: &to, n: int32(min(len(keys), Threads*items)), first: int32(t.Warp()*gpu.WarpSize*items + t.Lane()), items: items}
	shift := p.pass * Bits
	full := x.n == int32(Threads*items)
	if full {
		mine := keys[x.first:]
		for j := range items {
			x.low[j], x.high[j] = halves(flip(mine[j*gpu.WarpSize], p.negative, p.all))
		}
	} else {
		p.loadRest(t, &x, keys, buffer)
	}
	for w := range warps * Digits / Threads {
		table[w*Threads+tid] = 0
	}
	t.Sync() // all keys are read before the first one is used
	// at[j] is first the number of keys with the same digit before key j in the warp, and the digit in
	// the high half.
	mine := table[t.Warp()*Digits:][:Digits]
	for j := range items {
		d := digit[K](x.low[j], x.high[j], shift)
		x.at[j] = rank(t, mine, d) + d<<16
	}
	t.Sync()
	count, before := digitStarts(t, table, starts, p.head[mostPasses+int(p.pass)*Digits:], p.states, number)
	t.Sync()
	for j := range items {
		x.at[j] = x.at[j]&0xffff + mine[x.at[j]>>16]
	}
	x.trade(t, buffer, is64[K]())
	// The other threads wait only here for the counts of earlier tiles.
	if tid < Digits {
		if number > 0 {
			before = lookBack(p.states, number, tid, count)
		}
		p.next[number*Digits+tid] = 0
		starts[tid] = before - starts[tid]
	}
	t.Sync()
	for j := range int32(items) {
		i := j*Threads + int32(tid)
		x.to[j] = starts[digit[K](x.low[j], x.high[j], shift)] + uint32(i)
		k := flipBack(whole[K](x.low[j], x.high[j]), p.negative, p.all)
		if i < x.n {
			p.keysOut[x.to[j]] = k
		}
	}
	switch p.values.size {
	case 4:
		moveValues[b32](t, &p.values, &x, begin, buffer)
	case 8:
		moveValues[b64](t, &p.values, &x, begin, buffer)
	}
}

// loadRest loads the keys of the last tile, and fills it up with keys that come last in every pass. It
// uses a buffer, so that the loop is short.
func (p *pass[K]) loadRest(t gpu.Thread, x *tile, keys []K, buffer *[Threads * most]uint32) {
	fill := func(high bool) {
		t.Sync()
		//gpu:unroll 1
		for i := int32(t.ThreadX()); i < int32(Threads*x.items); i += Threads {
			k := ^K(0)
			if i < x.n {
				k = flip(keys[i], p.negative, p.all)
			}
			l, h := halves(k)
			if high {
				l = h
			}
			buffer[i] = l
		}
		t.Sync()
	}
	mine := buffer[x.first:]
	fill(false)
	for j := range x.items {
		x.low[j] = mine[j*gpu.WarpSize]
	}
	if is64[K]() {
		fill(true)
		for j := range x.items {
			x.high[j] = mine[j*gpu.WarpSize]
		}
	}
}

// moveValues moves the values of the tile that begins at a key.
func moveValues[V Key](t gpu.Thread, v *values, x *tile, begin int, buffer *[Threads * most]uint32) {
	from, to := gpu.ViewAt[V](v.src, v.n).Slice()[begin:], gpu.ViewAt[V](v.dst, v.n).Slice()
	mine, have := from[min(x.first, x.n):], x.n-x.first
	for j := range x.items {
		if int32(j*gpu.WarpSize) < have {
			x.low[j], x.high[j] = halves(mine[j*gpu.WarpSize])
		}
	}
	x.trade(t, buffer, is64[V]())
	for j := range int32(x.items) {
		if j*Threads+int32(t.ThreadX()) < x.n {
			to[x.to[j]] = whole[V](x.low[j], x.high[j])
		}
	}
}
