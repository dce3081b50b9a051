package cases

import "github.com/purecuda/cuda/driver"

// spmv has n rows of 16 to 79 numbers, and n columns.
func spmv(m *Memory, n int) *Work {
	r := source(n)
	starts := make([]int32, n+1)
	for i := range n {
		starts[i+1] = starts[i] + int32(16+r.IntN(64))
	}
	count := int(starts[n])
	cols, values, x := between[int32](r, count, 0, n), floats(r, count), floats(r, n)
	out, ds, dc, dv, dx := Out(m, make([]float32, n)), In(m, starts), In(m, cols), In(m, values), In(m, x)
	return &Work{
		Grid: driver.D1(min(1056, n/16+1)), Block: driver.D1(256),
		Args:  []any{out, ds, dc, dv, dx},
		CUDA:  []any{out.Ptr(), ds.Ptr(), dc.Ptr(), dv.Ptr(), dx.Ptr(), int32(n)},
		Bytes: 8*float64(count) + 12*float64(n), Operations: 2 * float64(count), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]float32, n)
			for r := range w {
				var sum float64
				for i := starts[r]; i < starts[r+1]; i++ {
					sum += float64(values[i]) * float64(x[cols[i]])
				}
				w[r] = float32(sum)
			}
			return []any{w}
		},
	}
}
