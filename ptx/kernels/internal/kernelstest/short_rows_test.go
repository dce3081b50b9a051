package kernelstest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/ptx/kernels"
)

// With enough rows to fill the device, the threads that share a short row load all of it at once: about four
// packs each, or eight for argmax.
func TestReductionsOfManyShortRows(t *testing.T) {
	each(t, func(k *kit) {
		n, err := k.c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		k.ok(err)
		rows := 64 * n
		if k.emulated() && rows > 10000 {
			t.Skip("too much work for the emulator")
		}
		w := workspace(k)
		for _, c := range []struct {
			cols, gap int
			team      [2]uint32
		}{
			{4, 0, [2]uint32{2, 2}}, {13, 0, [2]uint32{2, 2}}, {16, 0, [2]uint32{2, 2}}, {63, 0, [2]uint32{2, 2}},
			{64, 0, [2]uint32{2, 2}}, {60, 5, [2]uint32{2, 2}}, {255, 0, [2]uint32{8, 4}}, {256, 0, [2]uint32{8, 4}},
		} {
			s := sheetOf[kernels.F16](k, layout{rows, c.cols, 0, c.gap}, numbers[kernels.F16](rows*c.cols, 3))
			sums, places := alloc[float32](k, rows), alloc[int64](k, rows)
			for i, op := range []*driver.Launch{k.made(kernels.SumRows(sums, s.device, w)), k.made(kernels.ArgmaxRows(places, s.device, w))} {
				if got := op.Config().Block.X; got != c.team[i] {
					t.Errorf("%v: rows of %d elements have %d threads, want %d", op, c.cols, got, c.team[i])
				}
				k.run(op, nil)
			}
			at := host(k, places)
			for r, got := range host(k, sums) {
				want, size := 0.0, 0.0
				for _, v := range s.row(r) {
					want += v
					size += max(v, -v)
				}
				if off := 30 * 0x1p-24 * size; !near[float32](float64(got), want, off) {
					k.far(float64(got), want, off, "sum of row %d of %v", r, s.layout)
					break
				}
				if want := argmax(s.row(r)); at[r] != int64(want) {
					t.Errorf("argmax of row %d of %v: %d, want %d", r, s.layout, at[r], want)
					break
				}
			}
			k.ok(sums.Close())
			k.ok(places.Close())
			s.close()
		}
	})
}

// On sm_90, long rows are read in a better order by at most 1,024 threads of a multiprocessor. Short rows have more.
func TestThreadsOfExtremes(t *testing.T) {
	on(t, func(k *kit, capability [2]int) {
		most, err := k.c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
		k.ok(err)
		const n = 1 << 18
		src, dst := alloc[float32](k, n), alloc[int64](k, n/8)
		for _, cols := range []int{8, 32, 64, 256, 1024, 4096, 16384} {
			rows := n / cols
			op := k.made(kernels.ArgmaxRows(dst.View(0, rows), kernels.MatrixOf(src, rows, cols), nil))
			cfg := op.Config()
			threads := cfg.Block.X * cfg.Block.Y
			if capability[0] < 9 || cols < 64 || threads >= 512 {
				if cfg.SharedMem != 0 {
					t.Errorf("%v: rows of %d have %d bytes of shared memory", capability, cols, cfg.SharedMem)
				}
				continue
			}
			const reserved, static = 1024, 516
			if got := uint32(most+reserved) / (cfg.SharedMem + static + reserved) * threads; got != 1024 {
				t.Errorf("%v: rows of %d have %d threads of a multiprocessor in blocks of %d", capability, cols, got, threads)
			}
		}
	})
}
