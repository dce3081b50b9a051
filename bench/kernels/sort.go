package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// BitonicSort sorts each section of 1,024 keys. A block sorts one section. The last section may be
// shorter.
//
//gpu:kernel block=512 restrict=sorted,keys
func BitonicSort(t gpu.Thread, sorted, keys []uint32) {
	s := gpu.Shared[[1024]uint32](t)
	tid := uint32(t.ThreadX())
	first := 1024*t.BlockX() + t.ThreadX()
	s[tid], s[tid+512] = math.MaxUint32, math.MaxUint32
	if first < len(keys) {
		s[tid] = keys[first]
	}
	if first+512 < len(keys) {
		s[tid+512] = keys[first+512]
	}
	for size := uint32(2); size <= 1024; size *= 2 {
		// Sequences of the given size are sorted in alternating order. The last one is ascending.
		descending := tid&(size/2) != 0 && size < 1024
		for stride := size / 2; stride > 0; stride /= 2 {
			t.Sync()
			i := 2*tid - tid&(stride-1)
			a, b := s[i], s[i+stride]
			if (a > b) != descending {
				s[i], s[i+stride] = b, a
			}
		}
	}
	t.Sync()
	if first < len(sorted) {
		sorted[first] = s[tid]
	}
	if first+512 < len(sorted) {
		sorted[first+512] = s[tid+512]
	}
}

// Search computes, for each value, the number of sorted keys that are not greater. half is the
// largest power of two that does not exceed the number of keys.
//
//gpu:kernel block=256 restrict=ranks,values,keys
func Search(t gpu.Thread, ranks []int32, values, keys []uint32, half int32) {
	i := t.GlobalX()
	if i >= len(ranks) {
		return
	}
	v, n := values[i], int32(len(keys))
	rank := int32(0)
	for step := half; step > 0; step /= 2 {
		if next := min(rank+step, n); keys[next-1] <= v {
			rank = next
		}
	}
	ranks[i] = rank
}
