package cases

import "github.com/purecuda/cuda/driver"

func stencil2D(m *Memory, n int) *Work {
	width, height := n, n-1
	x := floats(source(n), width*height)
	out, in := Out(m, make([]float32, width*height)), In(m, x)
	return &Work{
		Grid: driver.D2((width+31)/32, (height+7)/8), Block: driver.D2(32, 8),
		Args:  []any{out, in, int64(width), float32(0.2)},
		CUDA:  []any{out.Ptr(), in.Ptr(), int32(width), int32(height), float32(0.2)},
		Bytes: 8 * float64(width*height), Operations: 6 * float64(width*height), Tolerance: 1e-6,
		Want: func() []any {
			w := make([]float32, width*height)
			copy(w, x)
			for y := 1; y < height-1; y++ {
				for i := y*width + 1; i < (y+1)*width-1; i++ {
					w[i] = x[i] + 0.2*(x[i-1]+x[i+1]+x[i-width]+x[i+width]-4*x[i])
				}
			}
			return []any{w}
		},
	}
}
