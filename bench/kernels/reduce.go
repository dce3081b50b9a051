package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Sum computes the sum of x. Blocks of 256 threads stride over x in vectors of four. Each block
// adds the sums of its threads with shuffles, and adds the total to out[0].
//
//gpu:kernel block=256
func Sum(t gpu.Thread, out, x []float32) {
	var s float32
	n4 := len(x) / 4
	for i := t.GlobalX(); i < n4; i += t.GridStrideX() {
		v := *(*[4]float32)(x[4*i:])
		s += (v[0] + v[1]) + (v[2] + v[3])
	}
	if i := 4*n4 + t.GlobalX(); i < len(x) {
		s += x[i]
	}
	s = blockSum(t, s)
	if t.ThreadX() == 0 {
		gpu.AtomicAdd(&out[0], s)
	}
}

// blockSum returns the sum of s over a block of 256 threads. Only thread 0 gets the result.
func blockSum(t gpu.Thread, s float32) float32 {
	sums := gpu.Shared[[8]float32](t)
	for d := 16; d > 0; d /= 2 {
		s += gpu.ShuffleDown(t, s, d)
	}
	if t.Lane() == 0 {
		sums[t.ThreadX()/32] = s
	}
	t.Sync()
	s = 0
	if t.ThreadX() < 8 {
		s = sums[t.ThreadX()]
	}
	for d := 4; d > 0; d /= 2 {
		s += gpu.ShuffleDown(t, s, d)
	}
	return s
}
