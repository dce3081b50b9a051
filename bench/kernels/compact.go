package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Compact appends the numbers of x above limit, in any order, to a ring whose length is a power of
// two. The counter count determines the position of the next number. In each warp, the first thread
// that has a number above limit increments the counter for all threads that have one.
//
//gpu:kernel block=256 restrict=ring,count,x
func Compact(t gpu.Thread, ring []float32, count []uint32, x []float32, limit float32) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	if v := x[i]; v > limit {
		mask := gpu.ActiveMask(t)
		leader := bits.TrailingZeros32(mask)
		var at uint32
		if t.Lane() == leader {
			at = gpu.AtomicAdd(&count[0], uint32(bits.OnesCount32(mask)))
		}
		at = gpu.ShuffleMask(t, mask, at, leader, 32)
		at += uint32(bits.OnesCount32(mask & (1<<t.Lane() - 1)))
		ring[int(at)&(len(ring)-1)] = v
	}
}
