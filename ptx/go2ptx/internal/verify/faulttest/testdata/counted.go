// Package counted has kernels that wait for a number of threads, which must not leave.
package counted

import "github.com/purecuda/cuda/ptx/gpu"

func check(x []int32, i int) int32 { return x[i] } // trap

//gpu:kernel
func named(t gpu.Thread, x, out []int32) {
	v := check(x, t.ThreadX())
	t.BarrierSync(1, 64) // remark named
	out[t.ThreadX()] = v
}

//gpu:kernel
func arrives(t gpu.Thread, x, out []int32) {
	v := check(x, t.ThreadX())
	if t.ThreadX() < 32 {
		t.BarrierArrive(1, 64) // remark arrives
	} else {
		t.BarrierSync(1, 64)
	}
	out[t.ThreadX()] = v
}

//gpu:kernel
func object(t gpu.Thread, x, out []int32) {
	bar := gpu.Shared[gpu.Barrier](t)
	if t.ThreadX() == 0 {
		bar.Init(t, t.BlockSize())
	}
	t.Sync()
	v := check(x, t.ThreadX())
	bar.Wait(t, bar.Arrive(t)) // remark object
	out[t.ThreadX()] = v
}

//gpu:kernel cluster=2
func cluster(t gpu.Thread, x, out []int32) {
	v := check(x, t.GlobalX())
	t.ClusterSync() // remark cluster
	out[t.GlobalX()] = v
}

//gpu:kernel
func grid(t gpu.Thread, x, out []int32) {
	v := check(x, t.GlobalX())
	t.GridSync() // remark grid
	out[t.GlobalX()] = v
}

//gpu:kernel
func inline(t gpu.Thread, x, out []int32) {
	v := check(x, t.ThreadX())
	gpu.PTX("{ .reg .pred %p; setp.eq.s32 %p, 0, 0; again: @%p bar.sync 1, 64; }") // remark inline
	out[t.ThreadX()] = v
}

//gpu:noinline
func meets(t gpu.Thread, x []int32, i int) int32 {
	v := x[i]            // trap of callee
	t.BarrierSync(2, 64) // remark callee
	return v
}

//gpu:kernel
func callee(t gpu.Thread, x, out []int32) { out[t.ThreadX()] = meets(t, x, t.ThreadX()) }

//gpu:kernel
func unchecked(t gpu.Thread, out *int32) {
	t.BarrierSync(1, 64)
}

//gpu:kernel
func plain(t gpu.Thread, x, out []int32) {
	v := check(x, t.ThreadX())
	t.Sync()
	t.SyncCount(v > 0)
	t.SyncWarp()
	out[t.ThreadX()] = v
}
