package features

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// differences subtracts numbers of two words from numbers of one word, which are the upper halves of products,
// and the other way round.
//
//gpu:kernel block=64
func differences(t gpu.Thread, x []uint32, y, out []int64, factor uint32) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	out[6*i] = int64(gpu.MulHi(x[i], factor)) - y[i]
	high, _ := bits.Mul32(x[i], 5)
	out[6*i+1] = (y[i] & 0xff) - (int64(high) - y[i])
	out[6*i+2] = int64(gpu.MulHi(int32(x[i]), int32(factor))) - y[i]
	out[6*i+3] = y[i] - int64(gpu.MulHi(x[i], factor))
	out[6*i+4] = int64(x[i]/641) - y[i]
	out[6*i+5] = (y[i] & 0xff) - (y[i] - int64(x[i]/641))
}
