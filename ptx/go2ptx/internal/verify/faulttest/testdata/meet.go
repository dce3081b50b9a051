// Package meet has kernels whose threads leave between barriers: thread i in round when[i].
package meet

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

const rounds = 50

//gpu:kernel
func block(t gpu.Thread, when, out []int32) {
	latest := gpu.Shared[int32](t)
	i := t.ThreadX()
	total := 0
	for r := range int32(rounds) {
		gpu.Assert(t, r != when[i], "the thread leaves")
		total += t.SyncCount(true)
		if i == 0 {
			*latest = r
		}
		t.Sync()
		total += int(*latest)
		if t.SyncOr(i == 0) && t.SyncAnd(true) {
			total++
		}
	}
	out[i] = int32(total)
}

//gpu:kernel
func warp(t gpu.Thread, when, out []int32) {
	i := t.ThreadX()
	total := int32(0)
	for r := range int32(rounds) {
		gpu.Assert(t, r != when[i], "the thread leaves")
		total += int32(bits.OnesCount32(gpu.Ballot(t, true)))
		t.SyncWarp()
		total += gpu.Shuffle(t, r, 0)
		if gpu.Any(t, true) && gpu.All(t, true) {
			total++
		}
	}
	out[i] = total
}
