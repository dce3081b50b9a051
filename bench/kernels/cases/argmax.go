package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func argMax(m *Memory, n int) *Work {
	x := floats(source(n), n)
	out, in := Out(m, []uint64{0}), In(m, x)
	return &Work{
		Grid: driver.D1(min(1056, n/1024+1)), Block: driver.D1(256),
		Args: []any{out, in}, CUDA: []any{out.Ptr(), in.Ptr(), int32(n)},
		Bytes: 4 * float64(n), Operations: float64(n),
		Want: func() []any {
			at := 0
			for i, v := range x {
				if v > x[at] {
					at = i
				}
			}
			bits := math.Float32bits(x[at])
			if x[at] < 0 {
				bits = ^bits
			} else {
				bits |= 1 << 31
			}
			return []any{[]uint64{uint64(bits)<<32 | uint64(^uint32(at))}}
		},
	}
}
