package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func layerNorm(m *Memory, n int) *Work {
	r, rows := source(n), rowsOf(n)
	x, weight, bias := floats(r, rows*n), floats(r, n), floats(r, n)
	out, mean, rstd := Out(m, make([]float32, rows*n)), Out(m, make([]float32, rows)), Out(m, make([]float32, rows))
	in, w, b := In(m, x), In(m, weight), In(m, bias)
	return &Work{
		Grid: driver.D1((rows + 7) / 8), Block: driver.D1(256),
		Args:  []any{out, mean, rstd, in, w, b},
		CUDA:  []any{out.Ptr(), mean.Ptr(), rstd.Ptr(), in.Ptr(), w.Ptr(), b.Ptr(), int32(n), int32(rows)},
		Bytes: 8 * float64(rows*n), Operations: 8 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			y, means, rstds := make([]float32, rows*n), make([]float32, rows), make([]float32, rows)
			for r := range rows {
				row := x[r*n:][:n]
				var sum, squares float64
				for _, v := range row {
					sum += float64(v)
				}
				mean := sum / float64(n)
				for _, v := range row {
					squares += (float64(v) - mean) * (float64(v) - mean)
				}
				rstd := 1 / math.Sqrt(squares/float64(n)+1e-5)
				for i, v := range row {
					y[r*n+i] = float32(rstd*(float64(v)-mean)*float64(weight[i]) + float64(bias[i]))
				}
				means[r], rstds[r] = float32(mean), float32(rstd)
			}
			return []any{y, means, rstds}
		},
	}
}

func rmsNorm(m *Memory, n int) *Work {
	rows := rowsOf(n)
	x := floats(source(n), rows*n)
	out, in := Out(m, make([]float32, rows*n)), In(m, x)
	return &Work{
		Grid: driver.D1(rows), Block: driver.D1(1024),
		Args: []any{out, in, int64(n), float32(1e-6)}, CUDA: []any{out.Ptr(), in.Ptr(), int32(n), float32(1e-6)},
		Bytes: 8 * float64(rows*n), Operations: 3 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, rows*n)
			for r := range rows {
				row := x[r*n:][:n]
				var squares float64
				for _, v := range row {
					squares += float64(v) * float64(v)
				}
				scale := 1 / math.Sqrt(squares/float64(n)+1e-6)
				for i, v := range row {
					w[r*n+i] = float32(scale * float64(v))
				}
			}
			return []any{w}
		},
	}
}
