// Package radix contains the kernels of radix sort.
//
// The method is that of Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
// for GPUs" (2022). Count counts the digits of all keys. Then each pass sorts by one digit, and reads
// and writes each key once. Its blocks take tiles in order and look back at the counts of earlier
// tiles.
package radix

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

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

	// Shared is the number of bytes of dynamic shared memory of a block that sorts. It has space for a tile of keys,
	// but not for as many values of 8 bytes as a tile of keys of 4 bytes has. SharedKeys32 is enough for Keys32.
	Shared       = 8 * Tile64
	SharedKeys32 = 4 * Tile32

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
		countDigits(table, passes, [...]K{
			flip(keys[i], negative, all), flip(keys[i+stride], negative, all),
			flip(keys[i+2*stride], negative, all), flip(keys[i+3*stride], negative, all),
		})
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

func countDigits[K Key](table *[mostPasses * Digits]uint32, passes int, keys [4]K) {
	//gpu:unroll 2
	for p := range passes {
		for i := range keys {
			gpu.AtomicAdd(&table[p*Digits+int(keys[i]&(Digits-1))], 1)
			keys[i] >>= Bits
		}
	}
}

// Keys32 sorts keys of 4 bytes by one digit. The states of the pass must be 0. The kernel sets those of
// the next pass to 0. The first pass flips the keys, and the last one flips them back.
//
//gpu:kernel block=384 minblocks=3 name=sort_b32
func Keys32(t gpu.Thread, dst, src, n, _, _, work, states, next uint64, negative, all, pass, _ uint32) {
	p := passOf[b32](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.sortTile(t, items32, nil)
}

// Pairs32 is like Keys32, and moves values of 4 or 8 bytes with the keys.
//
//gpu:kernel block=384 minblocks=2 name=sort_pairs_b32
func Pairs32(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all, pass, valueSize uint32) {
	p := passOf[b32](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.values = values{dstValues, srcValues, valueSize}
	p.sortTile(t, items32, gpu.Shared[[Tile32]uint8](t)[:])
}

// Sort64 is like Pairs32, for keys of 8 bytes. If there are no values, valueSize is 0.
//
//gpu:kernel block=384 minblocks=2 name=sort_b64
func Sort64(t gpu.Thread, dst, src, n, dstValues, srcValues, work, states, next uint64, negative, all uint64, pass, valueSize uint32) {
	p := passOf[b64](dst, src, n, work, states, next)
	p.negative, p.all, p.pass = negative, all, pass
	p.values = values{dstValues, srcValues, valueSize}
	p.sortTile(t, items64, gpu.Shared[[Tile64]uint8](t)[:])
}

// pass holds the arguments of a kernel.
type pass[K Key] struct {
	keysOut, keys      []K
	values             values
	head, states, next []uint32
	negative, all      K
	pass               uint32
}

// values are numbers of a size in bytes, which move with the keys. A size of 0 means none.
type values struct {
	dst, src uint64
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
type registers [most]uint32

// tile is what a thread knows of a tile.
type tile struct {
	at    *registers // the position of each of the thread's own keys in the sorted tile
	n     int32      // number of keys
	first int32      // position of the thread's first key. Key j of a lane is element 32*j+lane of the warp's part of the tile.
	items int

	starts *[Digits]uint32 // the places of the digits in the result, minus those in the tile
	digits []uint8         // the digits of the sorted tile, or nil if there are never values
}

// sortTile sorts a tile of items keys for each thread.
func (p *pass[K]) sortTile(t gpu.Thread, items int, digits []uint8) {
	taken := gpu.Shared[uint32](t)
	starts := gpu.Shared[[Digits]uint32](t)
	table := gpu.DynamicShared[uint32](t) // counts for each warp, and later the sorted tile
	tid := t.ThreadX()
	if tid == 0 {
		*taken = gpu.AtomicAdd(&p.head[p.pass], 1)
	}
	t.Sync()
	number := int(*taken)
	begin := number * Threads * items
	keys := p.keys[begin:]
	var at registers
	x := tile{
		at: &at, n: int32(min(len(keys), Threads*items)), first: int32(t.Warp())*int32(gpu.WarpSize*items) + int32(t.Lane()), items: items,
		starts: starts, digits: digits,
	}
	k := p.load(t, &x, keys)
	for w := range warps * Digits / Threads {
		table[w*Threads+tid] = 0
	}
	t.Sync() // all keys are read before the first one is used
	mine := table[t.Warp()*Digits:][:Digits]
	shift := p.pass * Bits
	ranks(t, &x, mine, &k, shift)
	t.Sync()
	count, before := digitStarts(t, table, starts, p.head[mostPasses+int(p.pass)*Digits:], p.states, number)
	t.Sync()
	if digits == nil {
		shift = pack.Fresh(shift) // so that addresses do not stay in registers, of which there are few
	}
	for j := range items {
		x.at[j] += mine[digit(k[j], shift)]
	}
	t.Sync() // no thread needs the table
	for j := range items {
		gpu.DynamicShared[K](t)[x.at[j]] = k[j]
	}
	var w [most]uint64
	if digits != nil && p.values.size != 0 {
		w = p.values.load(&x, begin) // while others wait for counts
	}
	// The other threads wait only here for the counts of earlier tiles.
	if tid < Digits {
		if number > 0 {
			before = lookBack(p.states, number, tid, count)
		}
		p.next[number*Digits+tid] = 0
		starts[tid] = before - starts[tid]
	}
	t.Sync()
	p.store(t, &x)
	if digits != nil && p.values.size != 0 {
		p.values.store(t, &x, &w)
	}
}

// atOnce is the number of elements that a thread loads or stores at a time in a loop.
const atOnce = 4

// load loads the thread's keys. It fills the last tile up with keys that come last in every pass.
func (p *pass[K]) load(t gpu.Thread, x *tile, keys []K) (k [most]K) {
	var negative, all K
	if p.pass == 0 {
		negative, all = p.negative, p.all
	}
	mine := keys[x.first:]
	if x.n == int32(Threads*x.items) {
		for j := range x.items {
			k[j] = mine[j*gpu.WarpSize]
		}
	} else {
		// Each turn moves all keys, so that the code is short. This is only in the last tile.
		//gpu:unroll 1
		for have := x.n - x.first; have > x.n-x.first-int32(gpu.WarpSize*x.items); have -= atOnce * gpu.WarpSize {
			for j := range x.items - atOnce {
				k[j] = k[j+atOnce]
			}
			for j := range atOnce {
				v := flipBack(^K(0), negative, all)
				if int32(j*gpu.WarpSize) < have {
					v = mine[j*gpu.WarpSize]
				}
				k[x.items-atOnce+j] = v
			}
			mine = mine[atOnce*gpu.WarpSize:]
		}
	}
	if negative|all != 0 {
		// Each turn moves all keys, so that the code is short. This is only in the first pass.
		//gpu:unroll 1
		for i := 0; i < x.items; i += 2 {
			a, b := flip(k[0], negative, all), flip(k[1], negative, all)
			for j := range x.items - 2 {
				k[j] = k[j+2]
			}
			k[x.items-2], k[x.items-1] = a, b
		}
	}
	return k
}

// store stores the keys of the sorted tile, and notes their digits.
func (p *pass[K]) store(t gpu.Thread, x *tile) {
	shift := p.pass * Bits
	last := p.pass == 32/Bits-1
	if is64[K]() {
		last = p.pass == 64/Bits-1
	}
	//gpu:unroll 1
	for i := int32(t.ThreadX()); i < int32(Threads*x.items); i += atOnce * Threads {
		var k [atOnce]K
		var to [atOnce]uint32
		from := gpu.DynamicShared[K](t)[i:]
		for j := range k {
			k[j] = from[j*Threads]
		}
		for j := range k {
			d := digit(k[j], shift)
			to[j] = x.starts[d] + uint32(i) + uint32(j)*Threads
			if x.digits != nil {
				x.digits[i:][j*Threads] = uint8(d)
			}
		}
		if last {
			for j := range k {
				k[j] = flipBack(k[j], p.negative, p.all)
			}
		}
		for j := range k {
			if int32(j)*Threads < x.n-i {
				p.keysOut[to[j]] = k[j]
			}
		}
	}
}

// load loads the thread's values of the tile that begins at a key.
func (v *values) load(x *tile, begin int) (w [most]uint64) {
	from := v.src + uint64(begin+int(x.first))*uint64(v.size)
	switch {
	case x.n < int32(Threads*x.items):
		// Each turn moves all values, so that the code is short. This is only in the last tile.
		//gpu:unroll 1
		for have := x.n - x.first; have > x.n-x.first-int32(gpu.WarpSize*x.items); have -= atOnce * gpu.WarpSize {
			for j := range x.items - atOnce {
				w[j] = w[j+atOnce]
			}
			var next [atOnce]uint64
			if v.size == 4 {
				for j := range next {
					if int32(j*gpu.WarpSize) < have {
						next[j] = uint64(*pack.Element[uint32](from + uint64(j*gpu.WarpSize*4)))
					}
				}
			} else {
				for j := range next {
					if int32(j*gpu.WarpSize) < have {
						next[j] = *pack.Element[uint64](from + uint64(j*gpu.WarpSize*8))
					}
				}
			}
			for j, value := range next {
				w[x.items-atOnce+j] = value
			}
			from += atOnce * gpu.WarpSize * uint64(v.size)
		}
	case v.size == 4:
		for j := range x.items {
			w[j] = uint64(*pack.Element[uint32](from + uint64(j*gpu.WarpSize*4)))
		}
	default:
		for j := range x.items {
			w[j] = *pack.Element[uint64](from + uint64(j*gpu.WarpSize*8))
		}
	}
	return w
}

// store moves the values to their places in the sorted tile, and stores them.
func (v *values) store(t gpu.Thread, x *tile, w *[most]uint64) {
	buffer := gpu.DynamicShared[uint64](t)
	// The buffer has space for all values of a tile of keys with 8 bytes, or for half of those of a larger tile.
	tile := uint32(Threads * x.items)
	part := tile
	if part > Tile64 {
		part /= 2
	}
	//gpu:unroll 1
	for base := uint32(0); base < tile; base += part {
		t.Sync()
		for j := range x.items {
			if at := x.at[j] - base; at < part || part == tile {
				buffer[at] = w[j]
			}
		}
		t.Sync()
		//gpu:unroll 1
		for i := uint32(t.ThreadX()); i < part; i += atOnce * Threads {
			var at [atOnce]uint64
			from, digits := buffer[i:], x.digits[base+i:]
			for j := range at {
				to := x.starts[digits[j*Threads]] + (base + i) + uint32(j)*Threads
				at[j] = v.dst + uint64(to)*uint64(v.size)
			}
			have := x.n - int32(base+i)
			if v.size == 4 {
				for j := range at {
					if w := from[j*Threads]; int32(j)*Threads < have {
						*pack.Element[uint32](at[j]) = uint32(w)
					}
				}
			} else {
				for j := range at {
					if w := from[j*Threads]; int32(j)*Threads < have {
						*pack.Element[uint64](at[j]) = w
					}
				}
			}
		}
	}
}
