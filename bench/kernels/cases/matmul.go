package cases

import (
	"math/rand/v2"

	"github.com/purecuda/cuda/driver"
)

func matMul(m *Memory, n int) *Work { return product(m, n, 32, driver.D2(32, 32), floats, 4, 1e-5) }
func sGemm(m *Memory, n int) *Work  { return product(m, n, 64, driver.D1(256), floats, 4, 1e-5) }
func dGemm(m *Memory, n int) *Work  { return product(m, n, 32, driver.D1(256), doubles, 8, 1e-13) }

func doubles(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.Float64()*2 - 1
	}
	return x
}

// product multiplies matrices in square tiles. Both matrices have n×n elements. If n is not a
// multiple of the tile size, the second matrix has n×(n-1) elements instead.
func product[T float32 | float64](m *Memory, n, tile int, block driver.Dim3, random func(*rand.Rand, int) []T, size, tolerance float64) *Work {
	columns := n
	if n%tile != 0 {
		columns--
	}
	r := source(n)
	a, b := random(r, n*n), random(r, n*columns)
	c, x, y := Out(m, make([]T, n*columns)), In(m, a), In(m, b)
	return &Work{
		Grid: driver.D2((columns+tile-1)/tile, (n+tile-1)/tile), Block: block,
		Args:       []any{c, x, y, int32(n), int32(columns), int32(n)},
		CUDA:       []any{c.Ptr(), x.Ptr(), y.Ptr(), int32(n), int32(columns), int32(n)},
		Bytes:      size * float64(n*n+2*n*columns),
		Operations: 2 * float64(n) * float64(n) * float64(columns), Tolerance: tolerance,
		Want: func() []any {
			w := make([]T, n*columns)
			for i := range w {
				var s float64
				for j := range n {
					s += float64(a[i/columns*n+j]) * float64(b[j*columns+i%columns])
				}
				w[i] = T(s)
			}
			return []any{w}
		},
	}
}
