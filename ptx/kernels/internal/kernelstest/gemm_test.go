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
			f := factorsOf(s[0], s[1], s[2])
			for transposed := range kernels.TransposedA | kernels.TransposedB + 1 {
				for _, more := range []int{0, 1, 4} {
					if k.emulated() && s[0] > 100 && more != i%2 {
						continue
					}
					f.multiply(k, more, transposed, 1, 0)
					f.multiply(k, more, transposed, 0.5, 2)
				}
			}
		}
	})
}

// grid is a matrix on the host, row after row.
type grid[T any] struct {
	x          []T
	rows, cols int
}

func gridOf[T any](rows, cols int) grid[T] { return grid[T]{make([]T, rows*cols), rows, cols} }

func (g grid[T]) row(i int) []T { return g.x[i*g.cols:][:g.cols] }

func (g grid[T]) turned() grid[T] {
	turned := gridOf[T](g.cols, g.rows)
	for i, v := range g.x {
		turned.x[i%g.cols*g.rows+i/g.cols] = v
	}
	return turned
}

// factors are matrices of m×p, p×n and m×n elements. size has the sums of the absolute values of the
// products. All layouts of the matrices have the same product, which takes long to compute.
type factors struct {
	a, b, c       grid[float32]
	product, size grid[float64]
}

func factorsOf(m, n, p int) *factors {
	numbers := func(rows, cols int, seed uint64) grid[float32] {
		g := gridOf[float32](rows, cols)
		for i, v := range random(rows*cols, seed) {
			g.x[i] = float32(v)
		}
		return g
	}
	f := &factors{numbers(m, p, 1), numbers(p, n, 2), numbers(m, n, 3), gridOf[float64](m, n), gridOf[float64](m, n)}
	for i := range m {
		product, size := f.product.row(i), f.size.row(i)
		size = size[:len(product)]
		for l, a := range f.a.row(i) {
			for j, b := range f.b.row(l)[:len(product)] {
				v := float64(a) * float64(b)
				product[j] += v
				size[j] += math.Abs(v)
			}
		}
	}
	return f
}

// multiply multiplies the matrices. more is the number of elements between two rows, which are NaN and
// must stay so.
func (f *factors) multiply(k *kit, more int, transposed kernels.Transposed, alpha, beta float32) {
	k.Helper()
	matrix := func(g grid[float32], turn bool) kernels.Matrix[float32] {
		if turn {
			g = g.turned()
		}
		padded := gridOf[float32](g.rows, g.cols+more)
		for i := range g.rows {
			row := padded.row(i)
			for j := copy(row, g.row(i)); j < len(row); j++ {
				row[j] = float32(math.NaN())
			}
		}
		return kernels.Matrix[float32]{Mem: device(k, more%4, padded.x), Rows: g.rows, Cols: g.cols, Pitch: padded.cols}
	}
	a := matrix(f.a, transposed&kernels.TransposedA != 0)
	b := matrix(f.b, transposed&kernels.TransposedB != 0)
	c := matrix(f.c, false)
	if beta == 0 { // c is not read
		nans := make([]float32, c.Mem.All().Len())
		for i := range nans {
			nans[i] = float32(math.NaN())
		}
		k.ok(c.Mem.All().CopyFrom(nans))
	}
	k.run(kernels.Gemm(c, a, b, alpha, beta, transposed))
	m, n, p := f.a.rows, f.b.cols, f.a.cols
	got := grid[float32]{host(k, c.Mem), m, n + more}
	for i := range m {
		row := got.row(i)
		for j, v := range row[n:] {
			if v == v {
				k.Fatalf("%d×%d×%d: element %d after row %d was written", m, n, p, j, i)
			}
		}
		old, product, size := f.c.row(i), f.product.row(i), f.size.row(i)
		for j, v := range row[:n] {
			want := product[j] * float64(alpha)
			if beta != 0 {
				want += float64(beta) * float64(old[j])
			}
			if !(math.Abs(float64(v)-want) <= 1e-6*(1+size[j])) {
				k.Fatalf("%d×%d×%d, transposed %d, alpha %v, beta %v: element %d, %d is %v, want %v", m, n, p, transposed, alpha, beta, i, j, v, want)
			}
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
