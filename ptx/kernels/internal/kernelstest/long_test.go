package kernelstest

import (
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
)

// On devices with clusters, a cluster of blocks shares a row that is too long for one block. The
// cluster has the fewest blocks that can keep the row. Results must be correct for any number of
// clusters of any size. Clusters of some sizes keep the rows in shared memory, and others read them
// twice.
func TestClustersOfAnySizeAndNumber(t *testing.T) {
	each(t, func(k *kit) {
		clusters[float32](k, 16512)
		clusters[kernels.F16](k, 33024)
		clusters[kernels.BF16](k, 33024)
	})
}

func clusters[T kernels.NetFloat](k *kit, cols int) {
	k.Helper()
	l := layout{rows: 3, cols: cols}
	s := sheetOf[T](k, l, random(l.rows*l.cols, 6))
	d := sheetOf[T](k, l, make([]float64, l.rows*l.cols))
	soft := k.made(kernels.Softmax(d.device, s.device, 0.75))
	norm := k.made(kernels.LayerNorm(d.device, s.device, nil, nil, eps))
	k.replay(2, soft, nil)
	softmaxed(k, s, 0.75, d.read())
	clustered := strings.HasSuffix(soft.Kernel().Name(), "_sm90")
	for _, c := range []struct{ blocks, clusters, threads int }{{2, 1, 288}, {2, 5, 512}, {1, 2, 512}, {4, 2, 160}, {8, 3, 96}, {8, 5, 32}} {
		for _, op := range []*driver.Launch{soft, norm} {
			cfg := op.Config()
			cfg.Grid, cfg.Block = driver.D1(c.blocks*c.clusters), driver.D1(c.threads)
			if clustered {
				cfg.Cluster = driver.D1(c.blocks)
			}
			k.ok(op.SetConfig(cfg))
			k.ok(d.mem.Fill(element[T](gapValue)))
			k.run(op, nil)
			if op == norm {
				centred(k, s, d.read())
			} else {
				softmaxed(k, s, 0.75, d.read())
			}
		}
	}
	s.close()
	d.close()
}

// A row must get the fewest blocks that can hold it, unless more blocks allow more rows to run at
// once, or unless the row is one of the longest. A multiprocessor has enough registers for two blocks
// of 512 threads, or for five blocks of 192.
func TestLongRowsHaveAsFewBlocksAsHoldThem(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{9, 0}}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		blocksOf[float32](k, []longRow{
			{16388, 2, 288}, {32768, 2, 512}, {32772, 4, 288}, {65536, 8, 256}, {65540, 8, 288}, {131072, 8, 512},
			{16389, 2, 288}, {32769, 4, 288}, {100003, 8, 416}, // rows that do not consist of packs
			{131076, 8, 288}, {1 << 20, 8, 512}, // rows of which a thread has more packs
		})
		blocksOf[kernels.BF16](k, []longRow{{16392, 1, 288}, {32768, 1, 512}, {65536, 2, 512}, {90000, 8, 192}, {131072, 8, 256}, {1 << 18, 8, 512}, {16385, 1, 288}})
	})
}

type longRow struct{ cols, blocks, threads int }

func blocksOf[T kernels.NetFloat](k *kit, list []longRow) {
	k.Helper()
	mem := alloc[T](k, 2<<20)
	for _, want := range list {
		m := kernels.MatrixOf(mem.View(0, 2*want.cols), 2, want.cols)
		cfg := k.made(kernels.Softmax(m, m, 1)).Config()
		if got := (longRow{want.cols, int(cfg.Cluster.X), int(cfg.Block.X)}); got != want || cfg.Grid != driver.D1(2*want.blocks) {
			k.Errorf("%T: %+v in a grid of %v, want %+v", *new(T), got, cfg.Grid, want)
		}
	}
}

// Operations on long rows must also work on a part of a device that has no room for a cluster.
func TestLongRowsWhereNoClusterHasRoom(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{ComputeCapability: [2]int{9, 0}, Multiprocessors: 1}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		for cols, blocks := range map[int]uint32{32768: 2, 65540: 0} {
			l := layout{rows: 2, cols: cols}
			s := sheetOf[float32](k, l, random(l.rows*l.cols, 6))
			op := k.made(kernels.Softmax(s.device, s.device, 0.75))
			if got := op.Config().Cluster.X; got != blocks {
				t.Errorf("%d columns have a cluster of %d blocks, want %d", cols, got, blocks)
			}
			k.run(op, nil)
			softmaxed(k, s, 0.75, s.read())
			s.close()
		}
	})
}

// centred checks that each row has mean 0 and variance 1, and that the order of its
// elements is unchanged.
func centred[T kernels.NetFloat](k *kit, s *sheet[T], got []float64) {
	k.Helper()
	for r := range s.rows {
		row, of := got[r*s.cols:(r+1)*s.cols], s.row(r)
		mean, squares := 0.0, 0.0
		for c, v := range row {
			mean += v / float64(len(row))
			squares += v * v / float64(len(row))
			if c > 0 && (v < row[c-1]) != (of[c] < of[c-1]) && v != row[c-1] {
				k.Fatalf("row %d: columns %d and %d changed their order", r, c-1, c)
			}
		}
		if off := 1e-5 + half[T](1)/10; math.Abs(mean) > off || math.Abs(squares-1) > 10*off {
			k.Fatalf("row %d has the mean %v and the variance %v", r, mean, squares)
		}
	}
}
