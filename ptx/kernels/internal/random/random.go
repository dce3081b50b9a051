// Package random contains the kernels of random numbers.
package random

import (
	gomath "math"
	gobits "math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// Threads is the number of threads of a block. A thread computes one group of four words.
const Threads = 256

// philox returns a group of four random words: Philox4x32 with ten rounds, of Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
func philox(c [4]uint32, key0, key1 uint32) [4]uint32 {
	for range 10 {
		high0, low0 := gobits.Mul32(0xD2511F53, c[0])
		high1, low1 := gobits.Mul32(0xCD9E8D57, c[2])
		const xor = 0x96 // the truth table of a^b^c
		c = [4]uint32{gpu.Lop3(high1, c[1], key0, xor), low1, gpu.Lop3(high0, c[3], key1, xor), low0}
		key0 += 0x9E3779B9
		key1 += 0xBB67AE85
	}
	return c
}

// group returns a group of the stream that belongs to a seed.
func group(n, seed uint64) [4]uint32 {
	return philox([4]uint32{uint32(n), uint32(n >> 32)}, uint32(seed), uint32(seed>>32))
}

// Distributions of numbers.
const (
	Bits    = iota // random words
	Uniform        // uniform in [0, 1)
	Normal         // normal, with mean 0 and standard deviation 1, by the method of Box and Muller
)

// Every kernel sets element i of dst to number first+i of the stream of a seed, so the numbers do not depend on
// the launch. The threads store whole groups if wide is not 0, which requires that a group of the
// stream begins with element 0, and that dst begins at a multiple of 16 bytes.

// Words computes numbers of 4 bytes: words, or the bits of float32. Uniform ones are multiples of 2^-24. A group has
// four of them.
//
//gpu:kernel block=256 name=random_b32
func Words(t gpu.Thread, dst, n, seed, first uint64, wide, distribution uint32) {
	out := gpu.ViewAt[uint32](dst, int(n)).Slice()
	w := group(first/4+uint64(t.GlobalX()), seed)
	switch distribution {
	case Uniform:
		for i := range w {
			w[i] = gomath.Float32bits(float32(w[i]>>8) * 0x1p-24)
		}
	case Normal:
		a, b := normal32(w[0], w[1])
		c, d := normal32(w[2], w[3])
		w = [4]uint32{gomath.Float32bits(a), gomath.Float32bits(b), gomath.Float32bits(c), gomath.Float32bits(d)}
	}
	at := 4*t.GlobalX() - int(first&3)
	if wide != 0 && at+4 <= len(out) {
		*(*[4]uint32)(out[at:]) = w
		return
	}
	for i, x := range w {
		if at+i >= 0 && at+i < len(out) {
			out[at+i] = x
		}
	}
}

// Longs computes numbers of type float64. Uniform ones are multiples of 2^-53. A group has two of them.
//
//gpu:kernel block=256 name=random_b64
func Longs(t gpu.Thread, dst, n, seed, first uint64, wide, distribution uint32) {
	out := gpu.ViewAt[float64](dst, int(n)).Slice()
	w := group(first/2+uint64(t.GlobalX()), seed)
	u, v := fraction(w[0], w[1]), fraction(w[2], w[3])
	x := [2]float64{float64(u) * 0x1p-53, float64(v) * 0x1p-53}
	if distribution == Normal {
		radius := math.Sqrt(-2 * math.Log(float64(u+1)*0x1p-53))
		angle := float64(int64(v)-1<<52) * 0x1p-52
		x = [2]float64{radius * math.Cospi(angle), radius * math.Sinpi(angle)}
	}
	at := 2*t.GlobalX() - int(first&1)
	if wide != 0 && at+2 <= len(out) {
		*(*[2]float64)(out[at:]) = x
		return
	}
	for i, x := range x {
		if at+i >= 0 && at+i < len(out) {
			out[at+i] = x
		}
	}
}

// fraction returns 53 random bits.
func fraction(high, low uint32) uint64 { return uint64(high)<<21 ^ uint64(low)>>11 }

// normal32 returns two normal numbers.
func normal32(u, v uint32) (a, b float32) {
	// The argument of Log is in (0, 1].
	radius := math32.Sqrt(-2 * math32.Log((float32(u)+1)*0x1p-32))
	angle := float32(int32(v)) * 0x1p-31 // from -1 to 1, in units of π
	return radius * math32.Cospi(angle), radius * math32.Sinpi(angle)
}
