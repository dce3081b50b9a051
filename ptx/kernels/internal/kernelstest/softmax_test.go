package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

func TestSoftmaxOfRows(t *testing.T) {
	each(t, func(k *kit) {
		softmaxes[float32](k)
		softmaxes[kernels.F16](k)
		softmaxes[kernels.BF16](k)
	})
}

func softmaxes[T kernels.NetFloat](k *kit) {
	k.Helper()
	for _, l := range k.layouts() {
		s := sheetOf[T](k, l, random(l.rows*l.cols, 6))
		d := sheetOf[T](k, layout{rows: l.rows, cols: l.cols, skip: l.skip, gap: 2 * l.gap}, make([]float64, l.rows*l.cols))
		op := k.made(kernels.Softmax(d.device, s.device, 0.75))
		k.run(op, nil)
		softmaxed(k, s, 0.75, d.read())
		k.ok(driver.SetArg(op, 6, float32(1)))
		k.run(op, nil)
		k.run(kernels.Softmax(s.device, s.device, 1)) // runs in place
		apart := d.read()
		for i, got := range s.read() {
			// The results may differ slightly, because the alignment of a row determines the order
			// of the additions.
			if want := apart[i]; !near[T](got, want, 4e-6*want+half[T](want)) {
				k.Errorf("%T, %v: in place element %d is %v, apart %v", *new(T), l, i, got, want)
				break
			}
		}
		s.close()
		d.close()
	}
}

func softmaxed[T kernels.NetFloat](k *kit, s *sheet[T], scale float64, got []float64) {
	k.Helper()
	for r := range s.rows {
		want, args := softmax(s.row(r), scale)
		for c, w := range want {
			each := 6e-8
			if sizeOf[T]() == 2 {
				each = 1.5e-7
			}
			off := w*(1e-6+each*math.Abs(args[c])) + 2e-38
			if g := got[r*s.cols+c]; !near[T](g, w, off) {
				k.far(g, w, off, "softmax of %T, %v, row %d, column %d", *new(T), s.layout, r, c)
				return
			}
		}
	}
}

// softmax returns the expected row and the arguments of exp.
func softmax(row []float64, scale float64) (out, args []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, v := range row {
		most = math.Max(most, v*scale)
	}
	out, args = make([]float64, len(row)), make([]float64, len(row))
	for i, v := range row {
		args[i] = v*scale - most
		out[i] = math.Exp(args[i])
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out, args
}

// Rows with special numbers must be correct whether they are held in registers, too long for
// registers, or unaligned.
func TestSoftmaxOfSpecialNumbers(t *testing.T) {
	each(t, func(k *kit) {
		for _, scale := range []float64{0.75, -0.75, 0} {
			softmaxSpecials[float32](k, longAndShort, scale, 1e30, 3e38)
		}
		softmaxSpecials[kernels.F16](k, longAndShort, 0.75, 3e4, 65504)
		softmaxSpecials[kernels.BF16](k, longAndShort, -0.75, 1e30, 3e38)
	})
	onManyShortRows(t, func(k *kit, rows int) {
		short := []layout{{rows, 64, 0, 0}, {rows, 63, 1, 0}, {rows, 255, 0, 0}, {rows, 16, 0, 0}}
		softmaxSpecials[float32](k, short[1:2], 0.75, 1e30, 3e38)
		softmaxSpecials[kernels.F16](k, short, 0.75, 3e4, 65504)
		softmaxSpecials[kernels.BF16](k, short, -0.75, 1e30, 3e38)
	})
}

var longAndShort = []layout{{9, 64, 0, 0}, {9, 63, 1, 0}, {9, 17408, 0, 0}, {9, 17, 0, 3}, {9, 16, 0, 0}, {9, 33600, 0, 0}, {9, 40000, 1, 0}}

func softmaxSpecials[T kernels.NetFloat](k *kit, layouts []layout, scale, large, largest float64) {
	k.Helper()
	nan, inf := math.NaN(), math.Inf(1)
	if scale < 0 {
		inf = -inf
	}
	for _, l := range layouts {
		v := random(l.rows*l.cols, 7)
		put := func(row, from, to int, x float64) {
			for c := from; c < to; c++ {
				v[row*l.cols+c] = x
			}
		}
		put(0, 0, l.cols, -inf)
		put(1, 3, 4, inf)
		put(2, 5, 6, nan)
		put(3, 1, l.cols, -inf) // mask all elements of the row except one
		put(4, 0, l.cols-1, -inf)
		put(5, 0, l.cols, large)
		put(6, 0, l.cols/2, -largest)
		put(7, 0, 8, -inf) // a NaN that no number precedes
		put(7, 3, 4, nan)
		put(8, 0, l.cols, -inf)
		put(8, l.cols-1, l.cols, nan)
		s := sheetOf[T](k, l, v)
		k.run(kernels.Softmax(s.device, s.device, float32(scale)))
		softmaxed(k, s, scale, s.read())
		s.close()
	}
}

// In a row that grows, each element exceeds what the kernel has subtracted so far. The results must be
// precise however slowly it grows.
func TestSoftmaxOfRowsThatGrow(t *testing.T) {
	each(t, func(k *kit) {
		for _, l := range []layout{{3, 20003, 1, 0}, {3, 700, 0, 0}, {3, 63, 1, 0}} {
			v := make([]float64, l.rows*l.cols)
			for i := range v {
				v[i] = float64(i%l.cols)*200/float64(l.cols)*float64(i/l.cols) - 150
			}
			// The second scale divided by ln 2 has almost the largest rounding error.
			for _, scale := range []float32{1, 0.6933077} {
				s := sheetOf[float32](k, l, v)
				k.run(kernels.Softmax(s.device, s.device, scale))
				softmaxed(k, s, float64(scale), s.read())
				s.close()
			}
		}
	})
}
