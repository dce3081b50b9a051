package cases

import "github.com/purecuda/cuda/driver"

// stencil3D has n×n×n points and a border of 4 points. The smaller grids used on the
// emulator have only 5 planes.
func stencil3D(m *Memory, n int) *Work {
	const radius = 4
	depth := n
	if n < 100 {
		depth = 5
	}
	stride := n + 2*radius
	size := stride * stride
	x := floats(source(n), size*(depth+2*radius))
	out, in := Out(m, make([]float32, len(x))), In(m, x)
	points := float64(n * n * depth)
	return &Work{
		Grid: driver.D2((n+31)/32, (n+15)/16), Block: driver.D2(32, 16),
		Args:  []any{out, in, int64(n), int64(n), int64(depth)},
		CUDA:  []any{out.Ptr(), in.Ptr(), int32(n), int32(n), int32(depth)},
		Bytes: 8 * points, Operations: 29 * points, Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, len(x))
			c := [radius + 1]float32{0.5, 0.05, 0.02, 0.01, 0.003}
			for z := radius; z < depth+radius; z++ {
				for y := radius; y < n+radius; y++ {
					for i := z*size + y*stride + radius; i < z*size+y*stride+radius+n; i++ {
						v := c[0] * x[i]
						for d := 1; d <= radius; d++ {
							v += c[d] * (x[i-d] + x[i+d] + x[i-d*stride] + x[i+d*stride] + x[i-d*size] + x[i+d*size])
						}
						w[i] = v
					}
				}
			}
			return []any{w}
		},
	}
}
