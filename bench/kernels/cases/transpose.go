package cases

import "github.com/purecuda/cuda/driver"

func transpose(m *Memory, n int) *Work {
	width, height := n, n*3/4
	x := floats(source(n), width*height)
	out, in := Out(m, make([]float32, width*height)), In(m, x)
	return &Work{
		Grid: driver.D2((width+31)/32, (height+31)/32), Block: driver.D2(32, 8),
		Args:  []any{out, in, int64(width), int64(height)},
		CUDA:  []any{out.Ptr(), in.Ptr(), int32(width), int32(height)},
		Bytes: 8 * float64(width*height),
		Want: func() []any {
			w := make([]float32, width*height)
			for i, v := range x {
				w[i%width*height+i/width] = v
			}
			return []any{w}
		},
	}
}
