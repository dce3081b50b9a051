package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

// dct8x8 transforms an image of n×n pixels.
func dct8x8(m *Memory, n int) *Work {
	in := floats(source(n), n*n)
	out, x := Out(m, make([]float32, n*n)), In(m, in)
	return &Work{
		Grid: driver.D2((n+31)/32, (n+15)/16), Block: driver.D3(8, 4, 2),
		Args: []any{out, x, int32(n), int32(n)}, CUDA: []any{out.Ptr(), x.Ptr(), int32(n), int32(n)},
		Bytes: 8 * float64(n*n), Operations: 10 * float64(n*n), Tolerance: 1e-5,
		Want: func() []any {
			var c [8][8]float64 // the matrix of a transform
			for k := range c {
				for j := range c[k] {
					c[k][j] = math.Cos(math.Pi*float64((2*j+1)*k)/16) / 2
					if k == 0 {
						c[k][j] /= math.Sqrt2
					}
				}
			}
			w := make([]float32, n*n)
			for i := range w {
				x, y := i%n, i/n
				var s float64
				for j := range 8 {
					for k := range 8 {
						s += c[y%8][j] * c[x%8][k] * float64(in[(y/8*8+j)*n+x/8*8+k])
					}
				}
				w[i] = float32(s)
			}
			return []any{w}
		},
	}
}

// bilateral smooths an image of n×n pixels.
func bilateral(m *Memory, n int) *Work {
	in := floats(source(n), n*n)
	const slope float32 = 0.5
	out, x := Out(m, make([]float32, n*n)), In(m, in)
	return &Work{
		Grid: driver.D2((n+31)/32, (n+7)/8), Block: driver.D2(32, 8),
		Args: []any{out, x, int32(n), int32(n), slope}, CUDA: []any{out.Ptr(), x.Ptr(), int32(n), int32(n), slope},
		Bytes: 8 * float64(n*n), Operations: 121 * 9 * float64(n*n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, n*n)
			for i := range w {
				var sum, total float64
				for dy := -5; dy <= 5; dy++ {
					for dx := -5; dx <= 5; dx++ {
						v := float64(in[min(max(i/n+dy, 0), n-1)*n+min(max(i%n+dx, 0), n-1)])
						d := v - float64(in[i])
						weight := math.Exp(-float64(dx*dx+dy*dy)/16 - float64(slope)*d*d)
						sum += weight * v
						total += weight
					}
				}
				w[i] = float32(sum / total)
			}
			return []any{w}
		},
	}
}
