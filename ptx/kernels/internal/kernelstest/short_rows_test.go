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
