package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Scan computes the inclusive prefix sums of sections of 1,024 numbers. A block computes one
// section: each thread adds four numbers, each warp adds the sums of its threads with shuffles, and
// the block adds the sums of its warps.
//
//gpu:kernel block=256 restrict=sums,x
func Scan(t gpu.Thread, sums, x []int32) {
	warps := gpu.Shared[[8]int32](t)
	x = x[:len(sums)]
	i := 4 * t.GlobalX()
	var v [4]int32
	if i+4 <= len(sums) {
		v = *(*[4]int32)(x[i:])
	} else {
		if i < len(sums) {
			v[0] = x[i]
		}
		if i+1 < len(sums) {
			v[1] = x[i+1]
		}
		if i+2 < len(sums) {
			v[2] = x[i+2]
		}
	}
	v[1] += v[0]
	v[2] += v[1]
	v[3] += v[2]
	s := v[3]
	for d := 1; d < 32; d *= 2 {
		if below := gpu.ShuffleUp(t, s, d); t.Lane() >= d {
			s += below
		}
	}
	if t.Lane() == 31 {
		warps[t.ThreadX()/32] = s
	}
	t.Sync()
	before := s - v[3]
	for w := range warps {
		if w < t.ThreadX()/32 {
			before += warps[w]
		}
	}
	for j := range v {
		v[j] += before
	}
	if i+4 <= len(sums) {
		*(*[4]int32)(sums[i:]) = v
		return
	}
	if i < len(sums) {
		sums[i] = v[0]
	}
	if i+1 < len(sums) {
		sums[i+1] = v[1]
	}
	if i+2 < len(sums) {
		sums[i+2] = v[2]
	}
}
