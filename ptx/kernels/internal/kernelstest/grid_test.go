package kernelstest

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// If there are more elements than a grid has threads, each thread must process several elements. To
// force this, the test reduces the operations' grids.
func TestAGridOfAnySizeDoesAllElements(t *testing.T) {
	each(t, func(k *kit) {
		const n = 2000
		a, b := device(k, 1, elements[float32](random(n, 10))), device(k, 1, elements[float32](random(n, 11)))
		odd := device(k, 2, make([]float32, n))
		half, index := alloc[kernels.F16](k, n), device(k, 0, []int32{3, 1, 2, 0})
		matrix := kernels.RowMajor(40, 50)
		for name, op := range map[string]*driver.Launch{
			"fill":        k.made(kernels.Fill(odd, 7)),
			"iota":        k.made(kernels.Iota(odd, 1, 2)),
			"cast":        k.made(kernels.Cast(half, a)),
			"axpy":        k.made(kernels.Axpy(odd, 2, a)),
			"add":         k.made(kernels.Add(a, a, b)),
			"add, odd":    k.made(kernels.Add(odd, a, b)),
			"add, a row":  k.made(kernels.Add(a, a, b.View(0, 50))),
			"add 1":       k.made(kernels.AddScalar(a, a, 1)),
			"gelu":        k.made(kernels.GELU(a, b)),
			"gather":      k.made(kernels.Gather(a, b, index, n/4)),
			"transpose":   k.made(kernels.Transpose(odd, b, 4, 5, 100)),
			"strided":     k.made(kernels.StridedCopy(odd, matrix, b, kernels.RowMajor(50, 40).Permute(1, 0), []int{40, 50})),
			"repeated":    k.made(kernels.Fill(b, 1)),
			"narrow cast": k.made(kernels.Cast(odd, half)),
		} {
			before := [][]float32{host(k, a), host(k, b), host(k, odd)}
			k.run(op, nil)
			want, bits := [][]float32{host(k, a), host(k, b), host(k, odd)}, host(k, half)
			for i, m := range []driver.View[float32]{a, b, odd} {
				k.ok(m.CopyFrom(before[i]))
			}
			k.ok(half.Fill(kernels.F16{}))
			k.ok(op.SetConfig(driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(256)}))
			k.run(op, nil)
			for i, m := range []driver.View[float32]{a, b, odd} {
				if !slices.Equal(host(k, m), want[i]) {
					t.Errorf("%s: two blocks do something else", name)
				}
			}
			if name == "cast" && !slices.Equal(host(k, half), bits) {
				t.Errorf("%s: two blocks do something else", name)
			}
		}
	})
}
