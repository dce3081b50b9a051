package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func nBody(m *Memory, n int) *Work {
	r := source(n)
	positions, velocities := floats(r, 4*n), floats(r, 4*n)
	for i := range n {
		positions[4*i+3] = r.Float32() / float32(n)
	}
	moved, v, p := Out(m, make([]float32, 4*n)), Out(m, velocities), In(m, positions)
	const step, damping float32 = 0.25, 0.75
	return &Work{
		Grid: driver.Blocks(n, 256), Block: driver.D1(256),
		Args: []any{moved, v, p, step, damping}, CUDA: []any{moved.Ptr(), v.Ptr(), p.Ptr(), step, damping, int32(n)},
		Bytes: 64 * float64(n), Operations: 20 * float64(n) * float64(n), Tolerance: 1e-5,
		Want: func() []any {
			moved, next := make([]float32, 4*n), make([]float32, 4*n)
			for i := range n {
				p := positions[4*i:][:4]
				var a [3]float64
				for j := range n {
					q := positions[4*j:][:4]
					var d [3]float64
					square := 0.01
					for k := range d {
						d[k] = float64(q[k]) - float64(p[k])
						square += d[k] * d[k]
					}
					for k := range d {
						a[k] += float64(q[3]) * d[k] / (square * math.Sqrt(square))
					}
				}
				moved[4*i+3], next[4*i+3] = p[3], velocities[4*i+3]
				for k := range a {
					v := (float64(velocities[4*i+k]) + a[k]*float64(step)) * float64(damping)
					moved[4*i+k], next[4*i+k] = float32(float64(p[k])+v*float64(step)), float32(v)
				}
			}
			return []any{moved, next}
		},
	}
}
