package kernelstest

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// If there are more rows than a grid has teams, each team must process several rows. To force this,
// the test reduces the operations' grids.
func TestAGridOfAnySizeDoesAllRows(t *testing.T) {
	each(t, func(k *kit) {
		const rows, cols = 300, 64
		src := device(k, 0, elements[float32](random(rows*cols, 15)))
		x, pos, freq := device(k, 0, elements[float32](random(cols, 16))), alloc[int32](k, rows), device(k, 0, kernels.RopeFrequencies(cols/4, 100))
		k.ok(pos.Fill(3))
		dst, place := alloc[float32](k, rows*cols), alloc[int64](k, rows)
		from, to := kernels.MatrixOf(src, rows, cols), kernels.MatrixOf(dst, rows, cols)
		heads := func(m driver.MemoryOf[float32]) kernels.Heads[float32] {
			return kernels.Heads[float32]{Mem: m, Tokens: rows, Heads: 2, Dim: cols / 2}
		}
		first := dst.View(0, rows)
		for name, op := range map[string]*driver.Launch{
			"sum":        k.made(kernels.SumRows(first, from, nil)),
			"max":        k.made(kernels.MaxRows(first, from, nil)),
			"argmax":     k.made(kernels.ArgmaxRows(place, from, nil)),
			"softmax":    k.made(kernels.Softmax(to, from, 1)),
			"RMS norm":   k.made(kernels.RMSNorm(to, from, x, eps)),
			"layer norm": k.made(kernels.LayerNorm(to, from, nil, x, eps)),
			"GEMV":       k.made(kernels.Gemv(first, from, x)),
			"rope":       k.made(kernels.Rope(heads(dst), heads(src), pos, freq, kernels.Halves)),
		} {
			k.ok(dst.Fill(gapValue))
			k.run(op, nil)
			want, places := host(k, dst), host(k, place)
			k.ok(dst.Fill(gapValue))
			k.ok(place.Fill(gapValue))
			cfg := op.Config()
			if cfg.Grid.X < 3 {
				t.Errorf("%s: a grid of %v says nothing", name, cfg.Grid)
			}
			cfg.Grid = driver.D1(2)
			k.ok(op.SetConfig(cfg))
			k.run(op, nil)
			if !slices.Equal(host(k, dst), want) || name == "argmax" && !slices.Equal(host(k, place), places) {
				t.Errorf("%s: two blocks do something else", name)
			}
		}
	})
}

// In rows that are at most as long as a cache line, each thread must process two packs. In longer rows, it may process
// up to eight, and four of short rows of float32.
func TestThreadsOfShortRows(t *testing.T) {
	each(t, func(k *kit) {
		teams := []struct {
			bytes         int
			halves, float uint32
		}{{16, 1, 1}, {32, 1, 1}, {64, 2, 2}, {128, 4, 4}, {256, 4, 4}, {384, 4, 8}, {512, 4, 8}, {1024, 8, 16}, {2048, 16, 32}, {4096, 32, 32}, {8192, 64, 64}}
		for _, want := range teams {
			h := kernels.MatrixOf(alloc[kernels.F16](k, 32*want.bytes), 64, want.bytes/2)
			f := kernels.MatrixOf(alloc[float32](k, 16*want.bytes), 64, want.bytes/4)
			for op, team := range map[*driver.Launch]uint32{k.made(kernels.Softmax(h, h, 1)): want.halves, k.made(kernels.RMSNorm(f, f, nil, eps)): want.float} {
				if got := op.Config().Block.X; got != team {
					t.Errorf("%v: rows of %d bytes have %d threads, want %d", op, want.bytes, got, team)
				}
			}
		}
	})
}

// Changing and launching an operation must not allocate. An emulated launch itself
// allocates memory, so on the emulator the test counts only the changes.
func TestChangingAnOperationOnRowsAllocatesNothing(t *testing.T) {
	each(t, func(k *kit) {
		x, y := alloc[float32](k, 4096), alloc[float32](k, 4096)
		m := kernels.MatrixOf(x, 4, 1024)
		op := k.made(kernels.RMSNorm(m, m, nil, eps))
		send := !k.emulated()
		rows, err := driver.ArgOf[uint64](op, 4)
		k.ok(err)
		if n := gputest.Allocs(0, 100, func() {
			k.ok(rows.Set(2))
			k.ok(driver.SetArg(op, 0, y.View(0, 2048)))
			if send {
				k.ok(k.s.Do(op))
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		k.ok(k.s.Wait(t.Context()))
	})
}
