package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Dot computes the scalar products of pairs of vectors of n numbers. out[p] is the product of pair
// p. A block of 256 threads accumulates the products of a pair in 1,024 partial sums in shared
// memory, and then adds these in a tree.
//
//gpu:kernel block=256 restrict=out,a,b
func Dot(t gpu.Thread, out, a, b []float32, n int) {
	sums := gpu.Shared[[1024]float32](t)
	for p := t.BlockX(); p < len(out); p += t.GridDimX() {
		u, v := a[p*n:][:n], b[p*n:][:n]
		for k := t.ThreadX(); k < len(sums); k += t.BlockDimX() {
			var s float32
			for i := k; i < len(u); i += len(sums) {
				s += u[i] * v[i]
			}
			sums[k] = s
		}
		for half := len(sums) / 2; half > 0; half /= 2 {
			t.Sync()
			for k := t.ThreadX(); k < half; k += t.BlockDimX() {
				sums[k] += sums[k+half]
			}
		}
		t.Sync()
		if t.ThreadX() == 0 {
			out[p] = sums[0]
		}
	}
}
