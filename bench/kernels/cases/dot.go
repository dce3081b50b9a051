package cases

import "github.com/purecuda/cuda/driver"

func dot(m *Memory, n int) *Work {
	r, pairs := source(n), rowsOf(n)
	a, b := floats(r, pairs*n), floats(r, pairs*n)
	out, x, y := Out(m, make([]float32, pairs)), In(m, a), In(m, b)
	return &Work{
		Grid: driver.D1(min(1056, max(2, pairs/4))), Block: driver.D1(256),
		Args: []any{out, x, y, int64(n)}, CUDA: []any{out.Ptr(), x.Ptr(), y.Ptr(), int32(n), int32(pairs)},
		Bytes: 8 * float64(pairs*n), Operations: 2 * float64(pairs*n), Tolerance: 1e-4,
		Want: func() []any {
			w := make([]float32, pairs)
			for p := range w {
				var s float64
				for i := p * n; i < (p+1)*n; i++ {
					s += float64(a[i]) * float64(b[i])
				}
				w[p] = float32(s)
			}
			return []any{w}
		},
	}
}
