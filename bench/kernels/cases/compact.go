package cases

import (
	"slices"

	"github.com/purecuda/cuda/driver"
)

// compact keeps one of 1,024 numbers, so that reading takes longer than the atomic additions, which
// all access one address. For the small sizes of the emulator, it keeps a quarter of the numbers.
// Each further launch continues at the position in the ring where the previous launch stopped.
func compact(m *Memory, n int) *Work {
	x, limit := floats(source(n), n), float32(1-2./1024)
	if n < 10000 {
		limit = 0.5
	}
	var kept []float32
	for _, v := range x {
		if v > limit {
			kept = append(kept, v)
		}
	}
	length := 1
	for length < len(kept) {
		length *= 2
	}
	ring, count, in := OutOfAnyOrder(m, make([]float32, length)), Out(m, []uint32{0}), In(m, x)
	return &Work{
		Grid: driver.D1((n + 255) / 256), Block: driver.D1(256),
		Args:  []any{ring, count, in, limit},
		CUDA:  []any{ring.Ptr(), count.Ptr(), in.Ptr(), limit, int32(length), int32(n)},
		Bytes: 4 * float64(n+len(kept)), Operations: float64(n),
		Want: func() []any {
			w := make([]float32, length)
			copy(w, kept)
			slices.Sort(w)
			return []any{w, []uint32{uint32(len(kept))}}
		},
	}
}
