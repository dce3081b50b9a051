package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestGemm(t *testing.T) {
	each(t, func(k *kit) {
		shapes := [][3]int{{0, 3, 3}, {3, 0, 5}, {3, 5, 0}, {1, 1, 1}, {4, 4, 4}, {5, 7, 3}, {128, 128, 16}, {130, 140, 33}, {33, 260, 100}}
		if !k.emulated() {
			shapes = append(shapes, [3]int{1000, 777, 555})
		}
		for i, s := range shapes {
			for transposed := range kernels.TransposedA | kernels.TransposedB + 1 {
				for _, more := range []int{0, 1, 4} {
					if k.emulated() && s[0] > 100 && more != i%2 {
						continue
					}
					gemm(k, s[0], s[1], s[2], more, transposed, 1, 0)
					gemm(k, s[0], s[1], s[2], more, transposed, 0.5, 2)
				}
			}
		}
	})
}

// gemm multiplies matrices of m×p and p×n elements. more is the number of elements between two rows,
// which are NaN and must stay so.
func gemm(k *kit, m, n, p, more int, transposed kernels.Transposed, alpha, beta float32) {
	k.Helper()
	matrix := func(rows, cols int, seed uint64) (kernels.Matrix[float32], func(r, c int) float64) {
		pitch := cols + more
		x := make([]float32, rows*pitch)
		for i, v := range random(rows*cols, seed) {
			x[i/max(cols, 1)*pitch+i%max(cols, 1)] = float32(v)
		}
		for i := range x {
			if i%pitch >= cols {
				x[i] = float32(math.NaN())
			}
		}
		return kernels.Matrix[float32]{Mem: device(k, more%4, x), Rows: rows, Cols: cols, Pitch: pitch}, func(r, c int) float64 { return float64(x[r*pitch+c]) }
	}
	turned := func(rows, cols int, seed uint64, turn bool) (kernels.Matrix[float32], func(r, c int) float64) {
		if !turn {
			return matrix(rows, cols, seed)
		}
		x, at := matrix(cols, rows, seed)
		return x, func(r, c int) float64 { return at(c, r) }
	}
	a, atA := turned(m, p, 1, transposed&kernels.TransposedA != 0)
	b, atB := turned(p, n, 2, transposed&kernels.TransposedB != 0)
	c, atC := matrix(m, n, 3)
	if beta == 0 { // c is not read
		nans := make([]float32, m*(n+more))
		for i := range nans {
			nans[i] = float32(math.NaN())
		}
		k.ok(c.Mem.All().CopyFrom(nans))
	}
	k.run(kernels.Gemm(c, a, b, alpha, beta, transposed))
	for i, v := range host(k, c.Mem) {
		got, row, col := float64(v), i/(n+more), i%(n+more)
		if col >= n {
			if !math.IsNaN(got) {
				k.Fatalf("%d×%d×%d: element %d after row %d was written", m, n, p, col-n, row)
			}
			continue
		}
		want, size := 0.0, 1.0
		for l := range p {
			want += atA(row, l) * atB(l, col)
			size += math.Abs(atA(row, l) * atB(l, col))
		}
		want *= float64(alpha)
		if beta != 0 {
			want += float64(beta) * atC(row, col)
		}
		if !(math.Abs(got-want) <= 1e-6*size) {
			k.Fatalf("%d×%d×%d, transposed %d, alpha %v, beta %v: element %d, %d is %v, want %v", m, n, p, transposed, alpha, beta, row, col, got, want)
		}
	}
}

func TestWrongGemm(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 1000)
		at := func(begin, rows, cols int) kernels.Matrix[float32] {
			return kernels.MatrixOf[float32](b.View(begin, 1000), rows, cols)
		}
		check := func(c, a, b kernels.Matrix[float32], transposed kernels.Transposed, words ...string) {
			k.Helper()
			_, err := kernels.Gemm(c, a, b, 1, 0, transposed)
			k.refused(err, append(words, "gemm")...)
		}
		check(at(0, 3, 4), at(100, 3, 5), at(200, 4, 5), 0, "3 × 5", "4 × 5")
		check(at(0, 3, 4), at(90, 3, 5), at(11, 5, 4), 0, "c and b overlap")
		check(at(0, 3, 4), at(90, 3, 5), at(200, 5, 4), 4, "transposed is 4")
		if _, err := kernels.Gemm(at(0, 3, 4), at(100, 5, 3), at(200, 4, 5), 1, 0, kernels.TransposedA|kernels.TransposedB); err != nil {
			k.Error(err)
		}
	})
}
