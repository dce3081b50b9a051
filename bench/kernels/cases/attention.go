package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

// attention has n rows. It has 16 heads if n is large, and 2 otherwise.
func attention(m *Memory, n int) *Work {
	heads := 2
	if n >= 1024 {
		heads = 16
	}
	r, size := source(n), 64*n*heads
	q, k, v := floats(r, size), floats(r, size), floats(r, size)
	out, x, y, z := Out(m, make([]float32, size)), In(m, q), In(m, k), In(m, v)
	const scale float32 = 0.5
	return &Work{
		Grid: driver.D2((n+63)/64, heads), Block: driver.D1(64),
		Args: []any{out, x, y, z, int64(n), scale}, CUDA: []any{out.Ptr(), x.Ptr(), y.Ptr(), z.Ptr(), int32(n), scale},
		Bytes: 16 * float64(size), Operations: 2 * float64(size) * float64(n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, size)
			for i := range heads * n {
				var sum [64]float64
				var total float64
				for j := i / n * n; j <= i; j++ {
					var score float64
					for d := range 64 {
						score += float64(q[64*i+d]) * float64(k[64*j+d])
					}
					p := math.Exp(float64(scale) * score)
					total += p
					for d := range sum {
						sum[d] += p * float64(v[64*j+d])
					}
				}
				for d := range sum {
					w[64*i+d] = float32(sum[d] / total)
				}
			}
			return []any{w}
		},
	}
}
