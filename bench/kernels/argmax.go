package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// ArgMax finds the largest number of x. If several are equal, it selects the first. It merges the
// result into out[0], whose upper half orders like the number and whose lower half is the
// complement of the index. Blocks of 256 threads stride over x in vectors of four, and compare
// their results with shuffles.
//
//gpu:kernel block=256
func ArgMax(t gpu.Thread, out []uint64, x []float32) {
	best, at := float32(math.Inf(-1)), uint32(0)
	n4 := len(x) / 4
	for i := t.GlobalX(); i < n4; i += t.GridStrideX() {
		v := *(*[4]float32)(x[4*i:])
		for j := range v {
			if v[j] > best {
				best, at = v[j], uint32(4*i+j)
			}
		}
	}
	if i := 4*n4 + t.GlobalX(); i < len(x) && x[i] > best {
		best, at = x[i], uint32(i)
	}
	bests, ats := gpu.Shared[[8]float32](t), gpu.Shared[[8]uint32](t)
	best, at = largest(t, best, at, 16)
	if t.Lane() == 0 {
		bests[t.ThreadX()/32], ats[t.ThreadX()/32] = best, at
	}
	t.Sync()
	if t.ThreadX() < 8 {
		best, at = bests[t.ThreadX()], ats[t.ThreadX()]
	}
	best, at = largest(t, best, at, 4)
	if t.ThreadX() == 0 {
		bits := math.Float32bits(best)
		if bits&(1<<31) != 0 {
			bits = ^bits
		} else {
			bits |= 1 << 31
		}
		gpu.AtomicMax(&out[0], uint64(bits)<<32|uint64(^at))
	}
}

// largest returns the largest number of the first 2·from lanes. Only the first lane of the warp
// gets the result.
func largest(t gpu.Thread, best float32, at uint32, from int) (float32, uint32) {
	for d := from; d > 0; d /= 2 {
		v, i := gpu.ShuffleDown(t, best, d), gpu.ShuffleDown(t, at, d)
		if v > best || v == best && i < at {
			best, at = v, i
		}
	}
	return best, at
}
