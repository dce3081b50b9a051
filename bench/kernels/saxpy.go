package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Saxpy adds a·x to y. Each thread computes four elements. The last thread computes the elements
// that remain.
//
//gpu:kernel block=256 restrict=x,y
func Saxpy(t gpu.Thread, y, x []float32, a float32) {
	i := 4 * t.GlobalX()
	if i+4 <= len(x) && i+4 <= len(y) {
		u, v := *(*[4]float32)(x[i:]), *(*[4]float32)(y[i:])
		*(*[4]float32)(y[i:]) = [4]float32{a*u[0] + v[0], a*u[1] + v[1], a*u[2] + v[2], a*u[3] + v[3]}
		return
	}
	for ; i < len(x); i++ {
		y[i] = a*x[i] + y[i]
	}
}
