package cases

import "github.com/purecuda/cuda/driver"

func convRows(m *Memory, n int) *Work {
	const radius = 8
	rows := rowsOf(n)
	x := floats(source(n), rows*n)
	out, in := Out(m, make([]float32, rows*n)), In(m, x)
	return &Work{
		Grid: driver.D2((n+127)/128, (rows+3)/4), Block: driver.D2(16, 4),
		Args:  []any{out, in, int64(n)},
		CUDA:  []any{out.Ptr(), in.Ptr(), int32(n), int32(rows)},
		Bytes: 8 * float64(rows*n), Operations: 34 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, rows*n)
			for i := range w {
				var sum float32
				for d := -radius; d <= radius; d++ {
					if at := i%n + d; at >= 0 && at < n {
						sum += float32(radius+1-max(d, -d)) / 81 * x[i+d]
					}
				}
				w[i] = sum
			}
			return []any{w}
		},
	}
}
