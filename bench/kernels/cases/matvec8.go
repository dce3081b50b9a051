package cases

import "github.com/purecuda/cuda/driver"

// matVec8 has rows of n numbers.
func matVec8(m *Memory, n int) *Work {
	rows := 7 * rowsOf(n)
	r := source(n)
	weights, scales, x := between[int8](r, rows*n, -127, 128), floats(r, rows), floats(r, n)
	out, dw, ds, dx := Out(m, make([]float32, rows)), In(m, weights), In(m, scales), In(m, x)
	return &Work{
		Grid: driver.D1((rows + 7) / 8), Block: driver.D1(256),
		Args:  []any{out, dw, ds, dx},
		CUDA:  []any{out.Ptr(), dw.Ptr(), ds.Ptr(), dx.Ptr(), int32(n), int32(rows)},
		Bytes: float64(rows * n), Operations: 2 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, rows)
			for r := range w {
				var sum float64
				for i, v := range x {
					sum += float64(weights[r*n+i]) * float64(v)
				}
				w[r] = float32(float64(scales[r]) * sum)
			}
			return []any{w}
		},
	}
}
