package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// SpMV multiplies a sparse matrix by a vector. The values of row r have the indices from starts[r]
// to starts[r+1]-1, and cols contains their columns. Each warp computes one row at a time.
//
//gpu:kernel block=256 restrict=y,starts,cols,values,x
func SpMV(t gpu.Thread, y []float32, starts, cols []int32, values, x []float32) {
	for r := t.GlobalX() / 32; r < len(y); r += t.GridStrideX() / 32 {
		start, end := starts[r], starts[r+1]
		vals, cols := values[start:end], cols[start:end]
		var sum float32
		for i := t.Lane(); i < len(vals); i += 32 {
			sum += vals[i] * x[cols[i]]
		}
		sum = warpSum(t, sum)
		if t.Lane() == 0 {
			y[r] = sum
		}
	}
}
