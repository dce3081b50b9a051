package cases

import (
	"math"

	"github.com/purecuda/cuda/driver"
)

func crossEntropy(m *Memory, n int) *Work {
	r, rows := source(n), rowsOf(n)
	logits, targets := floats(r, rows*n), between[int32](r, rows, 0, n)
	for i := range logits {
		logits[i] *= 4
	}
	loss, gradient, in, at := Out(m, make([]float32, rows)), Out(m, make([]float32, rows*n)), In(m, logits), In(m, targets)
	return &Work{
		Grid: driver.D1(rows), Block: driver.D1(1024),
		Args:  []any{loss, gradient, in, at, int64(n)},
		CUDA:  []any{loss.Ptr(), gradient.Ptr(), in.Ptr(), at.Ptr(), int32(n)},
		Bytes: 8 * float64(rows*n), Operations: 10 * float64(rows*n), Tolerance: 1e-5,
		Want: func() []any {
			losses, w := make([]float32, rows), make([]float32, rows*n)
			for r := range rows {
				row, target := logits[r*n:][:n], int(targets[r])
				most, sum := logSum(row)
				losses[r] = float32(math.Log(sum) + most - float64(row[target]))
				for i, v := range row {
					p := math.Exp(float64(v)-most) / sum
					if i == target {
						p--
					}
					w[r*n+i] = float32(p / float64(rows))
				}
			}
			return []any{losses, w}
		},
	}
}
