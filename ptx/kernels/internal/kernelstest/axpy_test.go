package kernelstest

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

func TestAxpy(t *testing.T) {
	each(t, func(k *kit) {
		axpys[kernels.F16](k)
		axpys[kernels.BF16](k)
		axpys[float32](k)
		axpys[float64](k)
	})
}

func axpys[T kernels.Float](k *kit) {
	k.Helper()
	a := element[T](-1.7)
	for _, n := range k.lengths() {
		xs, ys := elements[T](random(n, 2)), elements[T](random(n, 3))
		for _, skip := range []int{0, 1, 3} {
			x, y := device(k, skip, xs), device(k, 2*skip, ys)
			k.run(kernels.Axpy(y, a, x))
			for i, got := range host(k, y) {
				want := math.FMA(number(a), number(xs[i]), number(ys[i]))
				if off := math.Abs(number(got) - want); off > 0.501*ulp[T](want) {
					k.Fatalf("%T: element %d of %d is %v, want %v", a, i, n, number(got), want)
				}
			}
		}
	}
}

func TestAxpyAddsUpInReplays(t *testing.T) {
	each(t, func(k *kit) {
		x, y := device(k, 0, []float32{1, 2, 3, 4, 5}), device(k, 0, []float32{0, 0, 0, 0, 1})
		op, err := kernels.Axpy(y, 0.5, x)
		k.replay(4, op, err)
		for i, want := range []float32{2, 4, 6, 8, 11} {
			if got := host(k, y); got[i] != want {
				t.Errorf("element %d is %v, want %v", i, got[i], want)
			}
		}
		_, err = kernels.Axpy(y, 1, x.View(0, 4))
		k.refused(err, "axpy", "5", "4")
	})
}
