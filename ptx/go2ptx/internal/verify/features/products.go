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

// tables combines bits by tables where ptxas could combine several tables wrongly.
//
//gpu:kernel block=64
func tables(t gpu.Thread, x, y, out []uint32) {
	i := t.GlobalX()
	if i >= len(x) || i >= len(y) {
		return
	}
	out[4*i] = gpu.Lop3(x[i], y[i], x[i], 0xb8) & x[i]
	out[4*i+1] = gpu.Lop3(x[i], x[i], y[i], 0xe2) | y[i]
	out[4*i+2] = gpu.Lop3(y[i], x[i], x[i], 0x6a) ^ x[i]
	out[4*i+3] = gpu.Lop3(x[i], y[i], x[i]>>1, 0xb8) & x[i]
}

// saturated adds and subtracts numbers that are themselves sums, with which ptxas could join the operation.
//
//gpu:kernel block=64
func saturated(t gpu.Thread, x, y, out []int32) {
	i := t.GlobalX()
	if i >= len(x) || i >= len(y) {
		return
	}
	out[4*i] = gpu.SubSat(x[i]+x[i], x[i])
	out[4*i+1] = gpu.AddSat(x[i]-y[i], y[i])
	out[4*i+2] = gpu.SubSat(x[i]+y[i], y[i])
	out[4*i+3] = gpu.AddSat(x[i], y[i])
}
