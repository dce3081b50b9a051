package cases

import "github.com/purecuda/cuda/driver"

func saxpy(m *Memory, n int) *Work {
	r := source(n)
	x, y := floats(r, n), floats(r, n)
	out, in := Out(m, y), In(m, x)
	return &Work{
		Grid: driver.D1((n + 1023) / 1024), Block: driver.D1(256),
		Args: []any{out, in, float32(0.75)}, CUDA: []any{out.Ptr(), in.Ptr(), float32(0.75), int32(n)},
		Bytes: 12 * float64(n), Operations: 2 * float64(n), Tolerance: 1e-6,
		Want: func() []any {
			w := make([]float32, n)
			for i := range w {
				w[i] = 0.75*x[i] + y[i]
			}
			return []any{w}
		},
	}
}
