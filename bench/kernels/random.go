package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Philox fills out with random numbers. Each thread computes four of them: it applies ten rounds of
// Philox4x32 with the key to a counter, which is the thread's index.
//
//gpu:kernel block=256 restrict=out
func Philox(t gpu.Thread, out []uint32, key0, key1 uint32) {
	i := 4 * t.GlobalX()
	c := [4]uint32{uint32(t.GlobalX())}
	for range 10 {
		high0, low0 := bits.Mul32(0xD2511F53, c[0])
		high1, low1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{high1 ^ c[1] ^ key0, low1, high0 ^ c[3] ^ key1, low0}
		key0 += 0x9E3779B9
		key1 += 0xBB67AE85
	}
	if i+4 <= len(out) {
		*(*[4]uint32)(out[i:]) = c
		return
	}
	if i < len(out) {
		out[i] = c[0]
	}
	if i+1 < len(out) {
		out[i+1] = c[1]
	}
	if i+2 < len(out) {
		out[i+2] = c[2]
	}
}

// Sobol fills out with quasirandom numbers from 0 to 1. It computes n numbers for each dimension.
// BlockY selects the dimension. A dimension has 32 direction numbers. The threads of a dimension
// start at successive vectors. The distance from one vector of a thread to its next is the number
// of threads, a power of two. The vectors are in the order of Gray codes.
//
//gpu:kernel block=64 restrict=out,directions
func Sobol(t gpu.Thread, out []float32, directions []uint32, n int) {
	v := gpu.Shared[[32]uint32](t)
	out = out[n*t.BlockY():][:n]
	if t.ThreadX() < len(v) {
		v[t.ThreadX()] = directions[len(v)*t.BlockY()+t.ThreadX()]
	}
	t.Sync()
	i, stride := t.GlobalX(), t.GridStrideX()
	logStride := bits.TrailingZeros32(uint32(stride))
	x := uint32(0)
	gray := uint32(i ^ i>>1)
	for k := range logStride {
		if gray>>k&1 != 0 {
			x ^= v[k]
		}
	}
	low := v[logStride-1]
	for ; i < len(out); i += stride {
		out[i] = float32(x) * (1.0 / (1 << 32))
		// The next Gray code differs in bit logStride-1 and in the bit at the lowest zero above it.
		x ^= low ^ v[bits.TrailingZeros32(^uint32(i|(stride-1)))]
	}
}
