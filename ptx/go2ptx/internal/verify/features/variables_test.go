package features

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

func numbers() []float64 {
	x := make([]float64, 150)
	for i := range x {
		x[i] = float64(i%17) - 4
	}
	return x
}

func get[T any](d *device, v driver.View[T]) T {
	d.Helper()
	x := make([]T, v.Len())
	noError(d, v.CopyTo(x))
	if len(x) != 1 {
		d.Fatalf("a variable of %d elements", len(x))
	}
	return x[0]
}

// As in plain Go, variables have their initial values from the source until the host or a kernel
// changes them.
func TestVariables(t *testing.T) {
	each(t, func(d *device) {
		hits = gpu.Global[uint32]{}
		last = gpu.GlobalOf([2]int64{-1, 5})
		größe, curves = gpu.Constant[float32]{}, gpu.ConstantOf(curve{1.5, [3]uint16{1, 2, 3}, true})
		k, want := must(CountIn(d.c))(d), numbers()
		x := upload(d, want...)
		n, at := must(HitsIn(d.c))(d), must(LastIn(d.c))(d)
		c, limit := must(CurvesIn(d.c))(d), must(GrößeIn(d.c))(d)
		if v := get(d, c); v != curves.Load() {
			d.Errorf("the curve is %+v", v)
		}
		run := func() {
			d.Helper()
			noError(d, k.Do(d.s, k.Grid(x.Len()), x.All()))
			noError(d, gpu.Run(gpu.D1(3), gpu.D1(64), func(t gpu.Thread) { count(t, want) }))
			if got := download(d, x); !slices.Equal(got, want) {
				d.Fatalf("x is %v, want %v", got, want)
			}
			if got := get(d, n); got != hits.Load() || got == 0 {
				d.Errorf("%d hits, want %d", got, hits.Load())
			}
			if got := get(d, at); got != last.Load() || got[0] != -1 {
				d.Errorf("the last are %d, want %d", got, last.Load())
			}
		}
		run()
		noError(d, limit.CopyFrom([]float32{5.5}))
		größe.Simulate(5.5)
		noError(d, c.CopyFrom([]curve{{scale: -2, steps: [3]uint16{65535, 7, 9}, on: true}}))
		curves.Simulate(curve{-2, [3]uint16{65535, 7, 9}, true})
		noError(d, n.CopyFrom([]uint32{1000}))
		hits.Store(1000)
		run()
		noError(d, c.CopyFrom([]curve{{}}))
		curves.Simulate(curve{})
		run()
	})
}
