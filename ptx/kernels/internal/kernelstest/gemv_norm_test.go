package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// normOf returns x / sqrt(mean(x²) + eps) · weight. A nil weight means ones.
func normOf(x, weight []float64, eps float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	factor := 1 / math.Sqrt(sum/float64(len(x))+eps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * factor * at(weight, i, 1)
	}
	return y
}

func TestProductsWithNormalizedVectors(t *testing.T) {
	each(t, func(k *kit) {
		productsOfNorm[float32, float32](k)
		productsOfNorm[kernels.F16, kernels.F16](k)
		productsOfNorm[kernels.F16, float32](k)
		productsOfNorm[kernels.BF16, kernels.BF16](k)
	})
}

func productsOfNorm[A, X kernels.NetFloat](k *kit) {
	k.Helper()
	var op *driver.Launch
	for _, l := range k.layouts() {
		a := sheetOf[A](k, l, random(l.rows*l.cols, 12))
		for skip := range 4 {
			mem, x, xs := column[X](k, skip%2, l.cols, 13)
			w, weight, ws := column[X](k, skip/2, l.cols, 14)
			switch skip {
			case 2:
				weight, ws = nil, nil
			case 3:
				weight, ws = x, xs
			}
			y := alloc[X](k, l.rows)
			var err error
			op, err = kernels.GemvRMSNorm(y, a.device, x, weight, 0.25, op)
			k.run(op, err)
			norm := normOf(xs, ws, 0.25)
			for r, got := range host(k, y) {
				want, size := 0.0, 0.0
				for c, v := range a.row(r) {
					want += v * norm[c]
					size += math.Abs(v * norm[c])
				}
				off := (float64(l.cols)/1024+20)*0x1p-24*size + 2e-6*math.Abs(want)
				if !near[X](number(got), want, off) {
					k.far(number(got), want, off, "row %d of %T × %T, %v, case %d", r, *new(A), got, l, skip)
					break
				}
			}
			k.ok(mem.Close())
			k.ok(w.Close())
			k.ok(y.Close())
		}
		a.close()
	}
}

// A reused operation must declare its accesses also if a weight appears or disappears.
func TestOptionalOperandsOfReusedOperations(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100)
		y, m, x, w := b.View(0, 5), kernels.MatrixOf(b.View(10, 60), 5, 10), b.View(60, 70), b.View(70, 80)
		ways := []func(again ...*driver.Launch) (*driver.Launch, error){
			func(again ...*driver.Launch) (*driver.Launch, error) { return kernels.Gemv(y, m, x, again...) },
			func(again ...*driver.Launch) (*driver.Launch, error) {
				return kernels.GemvRMSNorm(y, m, x, nil, 1, again...)
			},
			func(again ...*driver.Launch) (*driver.Launch, error) {
				return kernels.GemvRMSNorm(y, m, x, w, 1, again...)
			},
			func(again ...*driver.Launch) (*driver.Launch, error) { return kernels.RMSNorm(m, m, nil, 1, again...) },
			func(again ...*driver.Launch) (*driver.Launch, error) { return kernels.RMSNorm(m, m, w, 1, again...) },
		}
		for i, way := range ways {
			for j, other := range ways {
				want := launchedBy(k, k.made(way()))
				if got := launchedBy(k, k.made(way(k.made(other())))); !got.is(want) {
					k.Errorf("way %d after %d:\ngot  %+v\nwant %+v", i, j, got, want)
				}
			}
		}
	})
}

func TestWrongGemvRMSNorm(t *testing.T) {
	each(t, func(k *kit) {
		b, q := alloc[float32](k, 300), alloc[uint8](k, 1000)
		y, m, x := b.View(0, 5), kernels.MatrixOf(b.View(10, 60), 5, 10), b.View(60, 70)
		_, err := kernels.GemvRMSNorm(y, m, x, b.View(80, 91), 1)
		k.refused(err, "GEMV of RMS norm", "weight has 11 elements, but rows have 10")
		_, err = kernels.GemvRMSNorm(y, m, x, b.View(4, 14), 1)
		k.refused(err, "y overlaps weight")
		a := kernels.Quantized[float32]{Mem: q, Scales: b.View(290, 294), Rows: 4, Cols: 64, Bits: 8}
		_, err = kernels.GemvQuantizedRMSNorm(b.View(0, 4), a, b.View(100, 164), b.View(164, 227), 1)
		k.refused(err, "gemv quantized of RMS norm", "weight has 63 elements, but rows have 64")
		_, err = kernels.GemvQuantizedRMSNorm(b.View(0, 4), a, b.View(100, 164), b.View(3, 67), 1)
		k.refused(err, "y and weight overlap")
	})
}
