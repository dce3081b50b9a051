package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func softmax(m *Memory, n int) *Work {
	rows := rowsOf(n)
	x := floats(source(n), rows*n)
	for i := range x {
		x[i] *= 8
	}
	out, in := Out(m, make([]float32, rows*n)), In(m, x)
	return &Work{
		Grid: driver.D1(rows), Block: driver.D1(256),
		Args: []any{out, in, int64(n)}, CUDA: []any{out.Ptr(), in.Ptr(), int32(n)},
		Bytes: 8 * float64(rows*n), Operations: 5 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, rows*n)
			for r := range rows {
				row := x[r*n:][:n]
				most, sum := logSum(row)
				for i, v := range row {
					w[r*n+i] = float32(math.Exp(float64(v)-most) / sum)
				}
			}
			return []any{w}
		},
	}
}

// logSum returns the largest number m of a row, and the sum of exp(x-m) over the numbers x of the
// row.
func logSum(row []float32) (most, sum float64) {
	most = math.Inf(-1)
	for _, v := range row {
		most = max(most, float64(v))
	}
	for _, v := range row {
		sum += math.Exp(float64(v) - most)
	}
	return most, sum
}
