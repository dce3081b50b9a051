package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// MatVec8 multiplies a matrix of int8 by x. Each row has a scale and the same number of elements as
// x, which must be a multiple of four. A warp computes one row, and each lane loads four numbers at
// a time.
//
//gpu:kernel block=256 restrict=y,weights,scales,x
func MatVec8(t gpu.Thread, y []float32, weights []int8, scales, x []float32) {
	r := t.GlobalX() / 32
	if r >= len(y) {
		return
	}
	row := weights[r*len(x):][:len(x)]
	var sum float32
	for i := 4 * t.Lane(); i < len(x); i += 128 {
		w, v := *(*[4]int8)(row[i:]), *(*[4]float32)(x[i:])
		sum += float32(w[0])*v[0] + float32(w[1])*v[1] + float32(w[2])*v[2] + float32(w[3])*v[3]
	}
	sum = warpSum(t, sum)
	if t.Lane() == 0 {
		y[r] = scales[r] * sum
	}
}
