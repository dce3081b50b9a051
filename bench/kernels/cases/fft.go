package cases

import (
	"math"
	"math/cmplx"

	"github.com/purecuda/cuda/driver"
)

func fft1024(m *Memory, n int) *Work {
	r := source(n)
	x, roots := make([]complex64, 1024*n), make([]complex64, 1024)
	for i := range x {
		x[i] = complex(r.Float32()*2-1, r.Float32()*2-1)
	}
	for i := range roots {
		roots[i] = complex64(cmplx.Rect(1, -2*math.Pi*float64(i)/1024))
	}
	out, in, table := Out(m, make([]complex64, 1024*n)), In(m, x), In(m, roots)
	return &Work{
		Grid: driver.D1(n), Block: driver.D1(256),
		Args: []any{out.parts(), in.parts(), table.parts()}, CUDA: []any{out.Ptr(), in.Ptr(), table.Ptr()},
		Bytes: 16 * 1024 * float64(n), Operations: 5 * 10 * 1024 * float64(n), Tolerance: 1e-5,
		Want: func() []any {
			w := make([]complex64, 0, 1024*n)
			for i := range n {
				transform := make([]complex128, 1024)
				for j, v := range x[1024*i:][:1024] {
					for k := range transform {
						transform[k] += complex128(v) * complex128(roots[j*k%1024])
					}
				}
				for _, v := range transform {
					w = append(w, complex64(v))
				}
			}
			return []any{w}
		},
	}
}

// parts returns a slice of complex64 as a slice of real and imaginary parts.
func (s Slice) parts() Slice { return Slice{s.ptr, 2 * s.len, 2 * s.cap} }
