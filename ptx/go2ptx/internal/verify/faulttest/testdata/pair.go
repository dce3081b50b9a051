// Package pair is compiled twice, under two names, for two modules that fault at the same time.
package pair

import "github.com/purecuda/cuda/ptx/gpu"

// fail fails in all threads. The index has the number of the thread in its lower 16 bits.
//
//gpu:kernel
func fail(t gpu.Thread, x []int32, base, slice int) {
	i := base + t.GlobalX()
	if slice != 0 {
		x = x[i : i+1] // slice
	}
	x[i] = 1 // index
}
