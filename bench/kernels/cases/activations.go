package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func gelu(m *Memory, n int) *Work {
	x := floats(source(n), n)
	for i := range x {
		x[i] *= 5
	}
	out, in := Out(m, make([]float32, n)), In(m, x)
	return &Work{
		Grid: driver.D1((n + 255) / 256), Block: driver.D1(256),
		Args: []any{out, in}, CUDA: []any{out.Ptr(), in.Ptr(), int32(n)},
		Bytes: 8 * float64(n), Operations: 9 * float64(n), Tolerance: 1e-6,
		Want: func() []any {
			w := make([]float32, n)
			for i, v := range x {
				v := float64(v)
				w[i] = float32(0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))))
			}
			return []any{w}
		},
	}
}

func swiGLU(m *Memory, n int) *Work {
	r := source(n)
	x, y := floats(r, n), floats(r, n)
	for i := range x {
		x[i] *= 10
	}
	out, dx, dy := Out(m, make([]float32, n)), In(m, x), In(m, y)
	return &Work{
		Grid: driver.D1((n + 255) / 256), Block: driver.D1(256),
		Args: []any{out, dx, dy}, CUDA: []any{out.Ptr(), dx.Ptr(), dy.Ptr(), int32(n)},
		Bytes: 12 * float64(n), Operations: 4 * float64(n), Tolerance: 1e-6,
		Want: func() []any {
			w := make([]float32, n)
			for i, v := range x {
				w[i] = float32(float64(v) / (1 + math.Exp(-float64(v))) * float64(y[i]))
			}
			return []any{w}
		},
	}
}
