package cases

import (
	"math"

	"github.com/purecuda/cuda/bench/kernels"
	"github.com/purecuda/cuda/driver"
)

func adamW(m *Memory, n int) *Work {
	r := source(n)
	p, means, squares, g := floats(r, n), floats(r, n), floats(r, n), floats(r, n)
	for i, v := range squares {
		squares[i] = v * v
	}
	a := kernels.Adam{Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Correction1: 0.41, Correction2: 0.005, Epsilon: 1e-8, Decay: 0.01}
	dp, dm, dv, dg := Out(m, p), Out(m, means), Out(m, squares), In(m, g)
	return &Work{
		Grid: driver.D1((n + 511) / 512), Block: driver.D1(512),
		Args:  []any{dp, dm, dv, dg, a},
		CUDA:  []any{dp.Ptr(), dm.Ptr(), dv.Ptr(), dg.Ptr(), a, int32(n)},
		Bytes: 28 * float64(n), Operations: 18 * float64(n), Tolerance: 1e-5,
		Want: func() []any {
			wp, wm, wv := make([]float32, n), make([]float32, n), make([]float32, n)
			lerp := func(a, b float32, weight float32) float64 {
				return float64(a) + float64(weight)*(float64(b)-float64(a))
			}
			for i := range n {
				mean, square := lerp(g[i], means[i], a.Beta1), lerp(g[i]*g[i], squares[i], a.Beta2)
				wm[i], wv[i] = float32(mean), float32(square)
				step := mean / float64(a.Correction1) / (math.Sqrt(square/float64(a.Correction2)) + float64(a.Epsilon))
				wp[i] = float32(float64(p[i]) - float64(a.Rate)*(step+float64(a.Decay)*float64(p[i])))
			}
			return []any{wp, wm, wv}
		},
	}
}
