package topk

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// block collects the k largest candidates of a block of threads. Each thread has a copy of the numbers.
type block struct {
	kept   *[capacity]uint64 // candidates in any order
	count  *uint32           // their number, after the next barrier
	digits *[Threads]uint32
	found  *[3]uint32
	least  uint64 // at least k candidates are not less than this one, so smaller ones are not kept
	k      int
}

func newBlock(t gpu.Thread, k int) block {
	b := block{gpu.Shared[[capacity]uint64](t), gpu.Shared[uint32](t), gpu.Shared[[Threads]uint32](t), gpu.Shared[[3]uint32](t), 0, k}
	if t.ThreadX() == 0 {
		*b.count = 0
	}
	t.Sync()
	return b
}

// add keeps a candidate unless it is too small. All lanes of a warp call it.
func (b *block) add(t gpu.Thread, candidate uint64, have bool) {
	have = have && candidate >= b.least
	mask := gpu.Ballot(t, have)
	if mask == 0 {
		return
	}
	leader := bits.TrailingZeros32(mask)
	var at uint32
	if t.Lane() == leader {
		at = gpu.AtomicAdd(b.count, uint32(bits.OnesCount32(mask)), gpu.ScopeBlock)
	}
	at = gpu.Shuffle(t, at, leader) + uint32(bits.OnesCount32(mask&(1<<t.Lane()-1)))
	if have {
		b.kept[at] = candidate
	}
}

// shrink makes room for another chunk. All threads of the block call it after each chunk.
//
// It goes through the digits of the candidates, from the highest on, until the candidates that are not
// less than a prefix are at least k, but few.
func (b *block) shrink(t gpu.Thread) {
	t.Sync()
	n := int(*b.count)
	limit := Limit(b.k)
	if n <= limit {
		t.Sync() // the next chunk changes the count
		return
	}
	tid := t.ThreadX()
	var prefix uint64
	more := uint32(0) // candidates with a larger prefix
	for shift := uint32(56); ; shift -= 8 {
		b.digits[tid] = 0
		t.Sync()
		//gpu:unroll 1
		for i := tid; i < n; i += Threads {
			if c := b.kept[i]; shift == 56 || c>>((shift+8)&63) == prefix {
				gpu.AtomicAdd(&b.digits[uint8(c>>(shift&63))], 1)
			}
		}
		t.Sync()
		b.choose(t, more)
		t.Sync()
		prefix = prefix<<8 | uint64(b.found[0])
		more = b.found[1]
		if int(b.found[2]) <= limit || shift == 0 {
			b.least = max(b.least, prefix<<(shift&63))
			break
		}
		t.Sync() // the next digit changes found
	}
	if tid == 0 {
		*b.count = 0
	}
	// Candidates move to lower places, from which the block has already taken others.
	for at := 0; at < n; at += chunk {
		b.addFrom(t, b.kept[:], at, n)
	}
	t.Sync()
}

// addFrom adds candidates from at on, but not more than n. 0 is not a candidate.
func (b *block) addFrom(t gpu.Thread, x []uint64, at, n int) {
	var mine [each]uint64
	rest := x[min(at+t.ThreadX(), n):n]
	for i := range mine {
		if at := i * Threads; at < len(rest) {
			mine[i] = rest[at]
		}
	}
	t.Sync()
	//gpu:unroll 1
	for range each {
		b.add(t, mine[0], mine[0] != 0)
		dropFirst(&mine)
	}
}

// choose finds the digit with which the candidates become k, if more of them have a larger prefix. It
// stores the digit, the number of candidates with a larger digit or prefix, and that with at least
// this digit. Thread i has digit 255-i.
func (b *block) choose(t gpu.Thread, more uint32) {
	parts := gpu.Shared[[Threads / gpu.WarpSize]uint32](t)
	digit := Threads - 1 - t.ThreadX()
	count := b.digits[digit]
	sum := count
	for d := 1; d < gpu.WarpSize; d *= 2 {
		if below := gpu.ShuffleUp(t, sum, d); t.Lane() >= d {
			sum += below
		}
	}
	if t.Lane() == gpu.WarpSize-1 {
		parts[t.Warp()] = sum
	}
	t.Sync()
	for w, n := range *parts { // a copy, which is loaded as vectors
		if w < t.Warp() {
			sum += n
		}
	}
	sum += more
	if int(sum) >= b.k && int(sum-count) < b.k {
		*b.found = [3]uint32{uint32(digit), sum - count, sum}
	}
}

// sort sorts the candidates in descending order, and adds zeros if there are fewer than k.
func (b *block) sort(t gpu.Thread) {
	t.Sync()
	n := int(*b.count)
	size := 1 << (bits.Len32(uint32(max(n, b.k)-1)) & 31) // a power of two
	//gpu:unroll 1
	for i := n + t.ThreadX(); i < size; i += Threads {
		b.kept[i] = 0
	}
	t.Sync()
	for run := 2; run <= size; run *= 2 {
		for step := run / 2; step > 0; step /= 2 {
			//gpu:unroll 1
			for i := t.ThreadX(); i < size/2; i += Threads {
				low := 2*i - i&(step-1)
				x, y := b.kept[low], b.kept[low+step]
				if (x < y) == (low&run == 0) {
					b.kept[low], b.kept[low+step] = y, x
				}
			}
			t.Sync()
		}
	}
}
