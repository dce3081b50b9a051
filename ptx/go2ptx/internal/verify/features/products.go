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

// multiples multiplies numbers by constants whose lower word is 0, in several steps that ptxas could join.
//
//gpu:kernel block=64
func multiples(t gpu.Thread, x, out []int64) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	shifts, product, sum := x[i]<<31<<28, (x[i]<<31)*6, (x[i]+x[i])<<31
	out[6*i] = shifts*5 + shifts
	out[6*i+1] = product*5 + product
	out[6*i+2] = sum*5 + sum
	out[6*i+3] = shifts*35 + shifts
	out[6*i+4] = (sum-x[i]<<31)*3 - product
	words := int64(int32(x[i])) << 31 << 5
	out[6*i+5] = words*5 + words
}

// quotients divides numbers of 64 bits by constants.
//
//gpu:kernel block=64
func quotients(t gpu.Thread, x, out []int64) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	s, u := x[i], uint64(x[i])
	out[12*i] = s / 97
	out[12*i+1] = s % -97
	out[12*i+2] = s / 7
	out[12*i+3] = s / -(1 << 40)
	out[12*i+4] = s / (1<<62 + 1)
	out[12*i+5] = int64(u / 97)
	out[12*i+6] = int64(u % 7)
	out[12*i+7] = int64(u / (1<<63 + 1))
	out[12*i+8] = int64(u % 1000000007)
	out[12*i+9] = int64(u >> 1 / 7)
	out[12*i+10] = int64(u >> 40 % 97)
	out[12*i+11] = s / -1
}
