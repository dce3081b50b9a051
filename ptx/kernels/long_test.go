package kernels_test

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
)

// A row that is too long for a block has a cluster of blocks where there are any. A
// cluster that has several rows reads the next one while it works on one; a launch
// that brings no memory for that has it read when it is wanted.
func TestClustersGoOnToFurtherRows(t *testing.T) {
	each(t, func(k *kit) {
		l := layout{rows: 11, cols: 16512}
		s := sheetOf[float32](k, l, random(l.rows*l.cols, 6))
		d := sheetOf[float32](k, l, make([]float64, l.rows*l.cols))
		op := k.made(kernels.Softmax(d.device, s.device, 0.75))
		norm := k.made(kernels.LayerNorm(d.device, s.device, nil, nil, eps))
		cfg := op.Config()
		for _, c := range []struct {
			clusters int
			memory   uint32
		}{{1, cfg.SharedMem}, {2, cfg.SharedMem}, {12, cfg.SharedMem}, {2, 0}} {
			cfg.Grid, cfg.SharedMem = driver.D1(8*c.clusters), c.memory
			for _, op := range []*driver.Launch{op, norm} {
				k.ok(op.SetConfig(cfg))
				k.ok(d.mem.Fill(gapValue))
				k.run(op, nil)
				if op == norm {
					centred(k, s, d.read())
				} else {
					softmaxed(k, s, d.read())
				}
			}
		}
		s.close()
		d.close()
	})
}

// centred wants each row to have the mean 0 and the variance 1, in the order it was.
func centred(k *kit, s *sheet[float32], got []float64) {
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
		if math.Abs(mean) > 1e-5 || math.Abs(squares-1) > 1e-4 {
			k.Fatalf("row %d has the mean %v and the variance %v", r, mean, squares)
		}
	}
}
