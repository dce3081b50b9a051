package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// ropeDims is the number of dimensions of a head.
const ropeDims = 128

// Rope rotates the pairs of numbers of each head. The angle of pair i is the row's position times
// base to the power of i. A row has n numbers. Each thread rotates one pair, and BlockY selects the
// row.
//
//gpu:kernel block=256 restrict=out,x,positions
func Rope(t gpu.Thread, out, x []float32, positions []int32, n int, base float32) {
	r, i := t.BlockY(), 2*t.GlobalX()
	if i+1 >= n {
		return
	}
	row, y := x[r*n:][:n], out[r*n:][:n]
	pair := i % ropeDims / 2
	angle := float32(positions[r]) * math32.Pow(base, float32(pair))
	sin, cos := math32.Sin(angle), math32.Cos(angle)
	u, v := row[i], row[i+1]
	y[i] = u*cos - v*sin
	y[i+1] = u*sin + v*cos
}
