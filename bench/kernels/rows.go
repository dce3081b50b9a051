package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// warpSum returns the sum of s over a warp. All lanes get the result.
func warpSum(t gpu.Thread, s float32) float32 {
	for d := 16; d > 0; d /= 2 {
		s += gpu.ShuffleXor(t, s, d)
	}
	return s
}

// warpMax returns the largest m of a warp. All lanes get the result.
func warpMax(t gpu.Thread, m float32) float32 {
	for d := 16; d > 0; d /= 2 {
		m = max(m, gpu.ShuffleXor(t, m, d))
	}
	return m
}

// blockSumToAll returns the sum of s over a block. All threads get the result. A kernel may call it
// only once.
func blockSumToAll(t gpu.Thread, s float32) float32 {
	sums := gpu.Shared[[32]float32](t)
	s = warpSum(t, s)
	if t.Lane() == 0 {
		sums[t.ThreadX()/32] = s
	}
	t.Sync()
	s = 0
	if t.Lane() < t.BlockDimX()/32 {
		s = sums[t.Lane()]
	}
	return warpSum(t, s)
}

// blockMaxToAll returns the largest m of a block. All threads get the result. A kernel may call it
// only once.
func blockMaxToAll(t gpu.Thread, m float32) float32 {
	maxima := gpu.Shared[[32]float32](t)
	m = warpMax(t, m)
	if t.Lane() == 0 {
		maxima[t.ThreadX()/32] = m
	}
	t.Sync()
	m = float32(math.Inf(-1))
	if t.Lane() < t.BlockDimX()/32 {
		m = maxima[t.Lane()]
	}
	return warpMax(t, m)
}
