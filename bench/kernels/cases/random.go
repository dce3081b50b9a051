package cases

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
)

func philox(m *Memory, n int) *Work {
	const key0, key1 uint32 = 0xa4093822, 0x299f31d0
	out := Out(m, make([]uint32, n))
	return &Work{
		Grid: driver.Blocks((n+3)/4, 256), Block: driver.D1(256),
		Args: []any{out, key0, key1}, CUDA: []any{out.Ptr(), key0, key1, int32(n)},
		Bytes: 4 * float64(n), Operations: 25 * float64(n),
		Want: func() []any {
			w := make([]uint32, 0, n+3)
			for len(w) < n {
				w = append(w, philox4x32([4]uint32{uint32(len(w) / 4)}, [2]uint32{key0, key1})...)
			}
			return []any{w[:n]}
		},
	}
}

// philox4x32 is Philox4x32-10.
func philox4x32(c [4]uint32, key [2]uint32) []uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ key[0], uint32(b), uint32(a>>32) ^ c[3] ^ key[1], uint32(a)}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return c[:]
}

// sobol computes n vectors. They have 100 dimensions if n is large, and 3 otherwise.
func sobol(m *Memory, n int) *Work {
	r := source(n)
	dimensions, blocks := 3, 2
	if n >= 1<<16 {
		dimensions, blocks = 100, 64
	}
	// Any direction numbers whose lowest set bit is bit 31-k have the structure of Sobol's.
	directions := make([]uint32, 32*dimensions)
	for i := range directions {
		k := i % 32
		directions[i] = (1 | r.Uint32N(1<<k)) << (31 - k)
	}
	out, d := Out(m, make([]float32, n*dimensions)), In(m, directions)
	return &Work{
		Grid: driver.D2(blocks, dimensions), Block: driver.D1(64),
		Args: []any{out, d, int64(n)}, CUDA: []any{out.Ptr(), d.Ptr(), int32(n)},
		Bytes: 4 * float64(n*dimensions), Operations: 10 * float64(n*dimensions),
		Want: func() []any {
			w := make([]float32, n*dimensions)
			for i := range w {
				var x uint32
				for gray := uint32(i%n) ^ uint32(i%n)>>1; gray != 0; gray &= gray - 1 {
					x ^= directions[i/n*32+bits.TrailingZeros32(gray)]
				}
				w[i] = float32(x) / (1 << 32)
			}
			return []any{w}
		},
	}
}
