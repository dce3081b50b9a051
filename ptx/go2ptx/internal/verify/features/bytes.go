package features

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// reverseBytes reverses the bytes of numbers of both sizes.
//
//gpu:kernel block=64
func reverseBytes(t gpu.Thread, out, x []uint64) {
	if i := t.GlobalX(); i < len(x) {
		out[2*i] = bits.ReverseBytes64(x[i])
		out[2*i+1] = uint64(bits.ReverseBytes32(uint32(x[i])))
	}
}

// nthSet finds set bits of a mask.
//
//gpu:kernel block=64
func nthSet(t gpu.Thread, out []uint32, n []int32, mask, base uint32) {
	if i := t.GlobalX(); i < len(n) {
		out[i] = gpu.FindNthSet(mask, base, n[i])
	}
}
