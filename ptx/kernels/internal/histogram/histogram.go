// Package histogram contains the kernels of histograms.
package histogram

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// A thread of Bytes has one counter of 8 bits for each bin, four of them in a word.
const (
	ByteThreads = 128
	Pack        = 16 // bytes that a thread loads at a time
	Rounds      = 15 // packs between two flushes: a counter must not exceed 255
	rows        = 64
)

// Bytes adds the number of occurrences of each byte of src to the counters in dst. Bytes that have no
// counter are ignored. The bytes from index skip on are at a multiple of 16.
//
// Each thread has its own counters in shared memory, so it needs no atomics. The counters of a thread
// are in one bank, so there are no bank conflicts, whatever the bytes are.
//
//gpu:kernel block=128 minblocks=6 name=histogram_u8
func Bytes(t gpu.Thread, dst, bins, src, n, skip uint64) {
	counts, x := gpu.ViewAt[uint32](dst, int(bins)).Slice(), gpu.ViewAt[uint8](src, int(n)).Slice()
	n = (n - skip) / Pack
	packs := gpu.ViewAt[uint32](src+skip, int(4*n)).Slice()
	countBytes(t, counts, x, packs, int(skip), int(n))
}

func countBytes(t gpu.Thread, counts []uint32, x []uint8, packs []uint32, skip, n int) {
	table := gpu.Shared[[rows * ByteThreads]uint32](t)
	tid := t.ThreadX()
	//gpu:unroll 4
	for r := range rows {
		table[r*ByteThreads+tid] = 0
	}
	column := uint32(tid)
	var sums [4]uint32 // the counters of half of the threads for four bins
	stride := t.GridStrideX()
	// All threads of a block do the same number of rounds.
	for block := t.BlockX() * ByteThreads; ; block += Rounds * stride {
		last := block >= n
		if last && t.BlockX() != 0 {
			break
		}
		at := block + tid
		var next [4]uint32
		if at < n {
			next = *(*[4]uint32)(packs[4*at:])
		}
		for r := 0; r < Rounds && at < n; r++ {
			now := next
			at += stride
			if at < n {
				next = *(*[4]uint32)(packs[4*at:])
			}
			for _, w := range now {
				count(table, column, w)
				count(table, column, w>>8)
				count(table, column, w>>16)
				count(table, column, w>>24)
			}
		}
		if last {
			countRest(tid, table, column, x, skip, Pack*n)
		}
		t.Sync()
		flush(table, tid, &sums)
		t.Sync()
		if last {
			break
		}
	}
	for j, s := range sums {
		if bin := tid%rows*4 + j; s != 0 && bin < len(counts) {
			gpu.AtomicAdd(&counts[bin], s)
		}
	}
}

// countRest counts the bytes before and after the packs, of which there can be many if x is short. Only the first
// block does so.
func countRest(tid int, table *[rows * ByteThreads]uint32, column uint32, x []uint8, skip, packed int) {
	//gpu:unroll 1
	for i := tid; i < len(x)-packed; i += ByteThreads {
		at := i
		if at >= skip {
			at += packed
		}
		count(table, column, uint32(x[at]))
	}
}

// count increments the counter of the byte in the low bits of w.
func count(table *[rows * ByteThreads]uint32, column, w uint32) {
	const andOr = 0xea // the truth table of a&b|c
	table[gpu.Lop3(w<<5, 0xfc<<5, column, andOr)] += 1 << (w << 3 & 0x18)
}

// flush adds the counters of half of the threads for four bins to sums, and sets them to 0.
func flush(table *[rows * ByteThreads]uint32, tid int, sums *[4]uint32) {
	row := table[tid%rows*ByteThreads+tid/rows*rows:][:rows]
	var even, odd uint32 // two sums of 16 bits: at most 64 counters of at most 255
	//gpu:unroll 4
	for i := range uint32(rows) {
		// The threads of a warp read different columns, and so different banks.
		p := &row[(i^uint32(tid))%rows]
		w := *p
		*p = 0
		even += w & 0x00ff00ff
		odd += w >> 8 & 0x00ff00ff
	}
	sums[0] += even & 0xffff
	sums[1] += odd & 0xffff
	sums[2] += even >> 16
	sums[3] += odd >> 16
}

// Threads is the number of threads of a block of Values and Many.
const Threads = 256

// Index lists the element types of Values and Many.
type Index interface{ b32 | i64 }

type (
	b32 = uint32
	i64 = int64
)

// Values is like Bytes, for numbers. For int32, there are at most 2^31 bins, so that negative numbers
// have none. The block counts in dynamic shared memory, of which each bin has
// one word for each of the copies, a power of two. More copies mean fewer threads that add to the same
// word.
//
//gpu:kernel block=256 name=histogram
//gpu:instance b32 i64
func Values[T Index](t gpu.Thread, dst, bins, src, n uint64, copies uint32) {
	countValues(t, gpu.ViewAt[uint32](dst, int(bins)).Slice(), gpu.ViewAt[T](src, int(n)).Slice(), copies)
}

func countValues[T Index](t gpu.Thread, counts []uint32, x []T, copies uint32) {
	table := gpu.DynamicShared[uint32](t)
	bins := uint32(len(counts))
	//gpu:unroll 1
	for i := t.ThreadX(); i < int(bins*copies); i += Threads {
		table[i] = 0
	}
	t.Sync()
	mine := table[uint32(t.ThreadX())&(copies-1)*bins:]
	i, stride := t.GlobalX(), t.GridStrideX()
	for ; i+3*stride < len(x); i += 4 * stride {
		a, b, c, d := x[i], x[i+stride], x[i+2*stride], x[i+3*stride]
		add(mine, bins, a)
		add(mine, bins, b)
		add(mine, bins, c)
		add(mine, bins, d)
	}
	//gpu:unroll 1
	for ; i < len(x); i += stride {
		add(mine, bins, x[i])
	}
	t.Sync()
	for bin := uint32(t.ThreadX()); bin < bins; bin += Threads {
		var sum uint32
		//gpu:unroll 1
		for c := range copies {
			sum += table[c*bins+bin]
		}
		if sum != 0 {
			gpu.AtomicAdd(&counts[bin], sum)
		}
	}
}

func add[T Index](table []uint32, bins uint32, v T) {
	if uint64(v) < uint64(bins) {
		gpu.AtomicAdd(&table[v], 1)
	}
}

// Many is like Values, for more bins than fit in shared memory.
//
//gpu:kernel block=256 name=histogram_many
//gpu:instance b32 i64
func Many[T Index](t gpu.Thread, dst, bins, src, n uint64, _ uint32) {
	counts, x := gpu.ViewAt[uint32](dst, int(bins)).Slice(), gpu.ViewAt[T](src, int(n)).Slice()
	for i := t.GlobalX(); i < len(x); i += t.GridStrideX() {
		if v := x[i]; uint64(v) < uint64(len(counts)) {
			gpu.AtomicAdd(&counts[v], 1)
		}
	}
}
