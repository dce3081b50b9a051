package features

import "github.com/purecuda/cuda/ptx/gpu"

// farShuffles shuffles by distances that may exceed the warp size. Some of them are constants.
//
//gpu:kernel block=64
func farShuffles(t gpu.Thread, v, out []uint32, by int) {
	i := t.GlobalX()
	if t.GridStrideX() > len(v) {
		return
	}
	x := v[i]
	out[8*i] = gpu.ShuffleUp(t, x, by)
	out[8*i+1] = gpu.ShuffleDown(t, x, by)
	out[8*i+2] = gpu.ShuffleXor(t, x, by)
	out[8*i+3] = gpu.Shuffle(t, x, by)
	out[8*i+4] = gpu.ShuffleUp(t, x, 33)
	out[8*i+5] = gpu.ShuffleDownMask(t, gpu.FullMask, x, 40, 16)
	out[8*i+6] = gpu.ShuffleXor(t, x, 35)
	out[8*i+7] = gpu.Shuffle(t, x, 37)
}
