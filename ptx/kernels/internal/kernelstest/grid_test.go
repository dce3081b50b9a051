package kernelstest

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
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

// Threads of kernels with many instructions must have four turns if that leaves enough blocks for each multiprocessor.
// Those of copies have one.
func TestThreadsHaveSeveralTurnsIfThereIsMuchWork(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{Multiprocessors: 1}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		const block = 256 * 4 // elements of type float32
		for parts, several := range map[int]int{30: 31, 63: 64, 64: 64, 255: 64, 256: 65, 400: 101} {
			n := parts * block
			a, b := alloc[float32](k, n), alloc[float32](k, n)
			rows := kernels.RowMajor(parts, block)
			narrow, wide, index := alloc[uint8](k, n/2), alloc[float64](k, n/2), alloc[int32](k, n/4)
			for _, c := range []struct {
				name string
				op   *driver.Launch
				grid int
			}{
				{"fill", k.made(kernels.Fill(a, 7)), parts + 1}, // with a block for elements before the first pack
				{"copy", k.made(kernels.Cast(a, b)), parts + 1},
				{"gelu", k.made(kernels.GELU(a, b)), several},
				{"exp", k.made(kernels.Exp(a, b)), parts + 1},
				{"gather", k.made(kernels.Gather(a, b, index, 4)), several},
				{"cast to float64", k.made(kernels.Cast(wide, a.View(0, n/2))), several},                              // a thread has two elements
				{"strided copy", k.made(kernels.StridedCopy(a, rows, b, rows, []int{parts, block})), (parts+3)/4 + 1}, // four units of 16 bytes
			} {
				if got := int(c.op.Config().Grid.X); got != c.grid {
					t.Errorf("%s of %d elements has %d blocks, want %d", c.name, n, got, c.grid)
				}
			}
			k.run(kernels.Iota(a, 0.25, 1))
			k.run(kernels.Cast(narrow, a.View(0, n/2)))
			compare(k, "cast", host(k, narrow.All()), func(i int) uint8 { return uint8(min(i, 255)) })
		}
	})
}
