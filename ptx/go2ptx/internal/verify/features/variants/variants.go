// Package variants contains kernels that are compiled for several targets.
package variants

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -variants=sm_70,sm_80,sm_90

// sums stores in sums[i] the sum of warp i's elements of x. In arch, it stores the architecture for
// which the running variant was compiled.
//
//gpu:kernel block=64
func sums(t gpu.Thread, sums, x []uint32, arch []int) {
	v := uint32(0)
	if i := t.GlobalX(); i < len(x) {
		v = x[i]
	}
	v = gpu.ReduceAdd(t, v)
	if t.Lane() == 0 {
		sums[t.GlobalX()/gpu.WarpSize] = v
	}
	if t.GlobalX() == 0 {
		arch[0] = gpu.Arch()
	}
	if gpu.Arch() >= 90 {
		t.GridLaunchDependents()
	}
}
