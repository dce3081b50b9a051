package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

// rope has rows of n numbers. n must be a multiple of 128.
func rope(m *Memory, n int) *Work {
	r, rows := source(n), rowsOf(n)
	x, positions := floats(r, rows*n), between[int32](r, rows, 0, 2048)
	base := float32(math.Pow(10000, -2/128.))
	out, in, pos := Out(m, make([]float32, rows*n)), In(m, x), In(m, positions)
	return &Work{
		Grid: driver.D2((n/2+255)/256, rows), Block: driver.D1(256),
		Args:  []any{out, in, pos, int64(n), base},
		CUDA:  []any{out.Ptr(), in.Ptr(), pos.Ptr(), int32(n), base},
		Bytes: 8 * float64(rows*n), Operations: 3 * float64(rows*n), Tolerance: 2e-3,
		Want: func() []any {
			w := make([]float32, rows*n)
			for i := 0; i < len(w); i += 2 {
				angle := float64(positions[i/n]) * math.Pow(float64(base), float64(i%n%128/2))
				sin, cos := math.Sincos(angle)
				u, v := float64(x[i]), float64(x[i+1])
				w[i], w[i+1] = float32(u*cos-v*sin), float32(u*sin+v*cos)
			}
			return []any{w}
		},
	}
}
