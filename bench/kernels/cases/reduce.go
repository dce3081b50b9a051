package cases

import "github.com/purecuda/cuda/driver"

func sum(m *Memory, n int) *Work {
	x := floats(source(n), n)
	out, in := Out(m, []float32{0}), In(m, x)
	return &Work{
		Grid: driver.D1(min(1056, n/1024+1)), Block: driver.D1(256),
		Args: []any{out, in}, CUDA: []any{out.Ptr(), in.Ptr(), int32(n)},
		Bytes: 4 * float64(n), Operations: float64(n), Tolerance: 1e-3,
		Want: func() []any {
			var s float64
			for _, v := range x {
				s += float64(v)
			}
			return []any{[]float32{float32(s)}}
		},
	}
}
