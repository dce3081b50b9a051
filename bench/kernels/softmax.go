package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// Softmax computes the softmax of each row of n numbers. A block of 256 threads computes one row.
//
//gpu:kernel block=256 restrict=out,x
func Softmax(t gpu.Thread, out, x []float32, n int) {
	r := t.BlockX()
	row, y := x[r*n:][:n], out[r*n:][:n]
	most := float32(math.Inf(-1))
	for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
		most = max(most, row[i])
	}
	most = blockMaxToAll(t, most)
	var sum float32
	for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
		e := math32.Exp(row[i] - most)
		y[i] = e
		sum += e
	}
	sum = blockSumToAll(t, sum)
	for i := t.ThreadX(); i < len(y); i += t.BlockDimX() {
		y[i] /= sum
	}
}
