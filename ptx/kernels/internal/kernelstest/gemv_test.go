package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

func TestProductsWithVectors(t *testing.T) {
	each(t, func(k *kit) {
		products[float32, float32](k)
		products[kernels.F16, kernels.F16](k)
		products[kernels.F16, float32](k)
		products[kernels.BF16, kernels.BF16](k)
		products[kernels.BF16, float32](k)
	})
}

func products[A, X kernels.NetFloat](k *kit) {
	k.Helper()
	for _, l := range k.layouts() {
		a := sheetOf[A](k, l, random(l.rows*l.cols, 12))
		for _, skip := range []int{0, 1} {
			mem, x, xs := column[X](k, skip, l.cols, 13)
			y := alloc[X](k, l.rows)
			k.run(kernels.Gemv(y, a.device, x))
			for r, got := range host(k, y) {
				want, size := 0.0, 0.0
				for c, v := range a.row(r) {
					want += v * xs[c]
					size += math.Abs(v * xs[c])
				}
				off := (float64(l.cols)/1024 + 20) * 0x1p-24 * size
				if !near[X](number(got), want, off) {
					k.far(number(got), want, off, "row %d of %T × %T, %v, x behind %d", r, *new(A), got, l, skip)
					break
				}
			}
			k.ok(mem.Close())
			k.ok(y.Close())
		}
		a.close()
	}
}

func TestProductsThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100)
		h := alloc[kernels.F16](k, 10)
		y, m, x := b.View(0, 5), kernels.MatrixOf(b.View(10, 60), 5, 10), b.View(60, 70)
		k.made(kernels.Gemv(y, m, x))
		_, err := kernels.Gemv(b.View(0, 6), m, x)
		k.refused(err, "GEMV", "y has 6 elements, but a has 5 rows")
		_, err = kernels.Gemv(y, m, b.View(60, 71))
		k.refused(err, "x has 11 elements, but rows have 10")
		_, err = kernels.Gemv(b.View(58, 63), m, x)
		k.refused(err, "y overlaps a or x")
		_, err = kernels.Gemv(y, m, nil)
		k.refused(err, "x is nil")
		_, err = kernels.Gemv(h.View(0, 5), m, h)
		k.refused(err, "a matrix of f32", "not of f16")
	})
}

func TestGemvInAGraphTakesAnotherMatrix(t *testing.T) {
	each(t, func(k *kit) {
		a := device(k, 0, elements[float32]([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
		x, y := device(k, 0, []float32{1, 10, 100}), alloc[float32](k, 2)
		op := k.made(kernels.Gemv(y, kernels.MatrixOf(a.View(0, 6), 2, 3), x))
		k.replay(2, op, nil)
		if got := host(k, y); got[0] != 321 || got[1] != 654 {
			t.Errorf("got %v", got)
		}
		k.ok(driver.SetArg(op, 1, a.View(6, 12)))
		k.replay(2, op, nil)
		if got := host(k, y); got[0] != 987 || got[1] != 1320 {
			t.Errorf("got %v", got)
		}
	})
}
