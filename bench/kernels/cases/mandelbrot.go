package cases

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

func mandelbrot(m *Memory, n int) *Work {
	const left, top float32 = -2, -1.25
	most, step := int32(512), 2.5/float32(n)
	out := Out(m, make([]int32, n*n))
	numbers := []any{int32(n), int32(n), left, top, step, most}
	return &Work{
		Grid: driver.D2((n+31)/32, (n+7)/8), Block: driver.D2(32, 8),
		Args: append([]any{out}, numbers...), CUDA: append([]any{out.Ptr()}, numbers...),
		// About a third of the points reach the last iteration.
		Bytes: 4 * float64(n*n), Operations: 8 * float64(n*n) * float64(most) / 3,
		Want: func() []any {
			counts := make([]int32, n*n)
			for i := range counts {
				cx, cy := gpu.FMA(float32(i%n), step, left), gpu.FMA(float32(i/n), step, top)
				var x, y float32
				for counts[i] < most && float32(x*x)+float32(y*y) <= 4 {
					x, y = float32(x*x)-float32(y*y)+cx, gpu.FMA(x+x, y, cy)
					counts[i]++
				}
			}
			return []any{counts}
		},
	}
}
