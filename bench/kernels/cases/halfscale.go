package cases

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/num"
)

func halfScale(m *Memory, n int) *Work {
	x := num.ToF16s(floats(source(n), n))
	a, b := num.ToF16(0.75), num.ToF16(-0.25)
	out, in := Out(m, make([]num.F16, n)), In(m, x)
	return &Work{
		Grid: driver.D1(min(1056, n/512+1)), Block: driver.D1(256),
		Args: []any{out, in, a, b}, CUDA: []any{out.Ptr(), in.Ptr(), a.Bits(), b.Bits(), int32(n)},
		Bytes: 4 * float64(n), Operations: 2 * float64(n),
		Want: func() []any {
			w := make([]num.F16, n)
			for i := range w {
				w[i] = num.FMA(a, x[i], b)
			}
			return []any{w}
		},
	}
}
