package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Transpose transposes a matrix with rows of width numbers through tiles in shared memory. The rows
// of a tile are padded by one number, so that the lanes of a warp access different banks.
//
//gpu:kernel block=32x8 restrict=out,in
func Transpose(t gpu.Thread, out, in []float32, width, height int) {
	tile := gpu.Shared[[32][33]float32](t)
	x, y := t.BlockX()*32+t.ThreadX(), t.BlockY()*32+t.ThreadY()
	for j := 0; j < 32; j += 8 {
		if i := (y+j)*width + x; x < width && i < len(in) {
			tile[t.ThreadY()+j][t.ThreadX()] = in[i]
		}
	}
	t.Sync()
	x, y = t.BlockY()*32+t.ThreadX(), t.BlockX()*32+t.ThreadY()
	for j := 0; j < 32; j += 8 {
		if i := (y+j)*height + x; x < height && i < len(out) {
			out[i] = tile[t.ThreadX()][t.ThreadY()+j]
		}
	}
}
