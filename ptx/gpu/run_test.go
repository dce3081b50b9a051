package gpu_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

func mustRun(t *testing.T, grid, block gpu.Dim, kernel func(gpu.Thread), options ...gpu.Option) {
	t.Helper()
	if err := gpu.Run(grid, block, kernel, options...); err != nil {
		t.Fatal(err)
	}
}

func TestEveryThreadRunsOnceWithItsIndices(t *testing.T) {
	grid, block := gpu.D3(4, 3, 2), gpu.D3(8, 5, 3)
	seen := make([]atomic.Int32, grid.Count()*block.Count())
	mustRun(t, grid, block, func(k gpu.Thread) {
		x := k.GlobalX() + k.GridStrideX()*(k.GlobalY()+k.GridStrideY()*k.GlobalZ())
		seen[x].Add(1)
		if want := k.ThreadX() + 8*(k.ThreadY()+5*k.ThreadZ()); k.Rank() != want || k.Lane() != want%32 || k.Warp() != want/32 {
			t.Errorf("rank %d, lane %d, warp %d, want rank %d", k.Rank(), k.Lane(), k.Warp(), want)
		}
		if want := k.BlockX() + 4*(k.BlockY()+3*k.BlockZ()); k.BlockRank() != want {
			t.Errorf("block rank %d, want %d", k.BlockRank(), want)
		}
		if k.BlockSize() != 120 || k.GridSize() != 24 {
			t.Errorf("sizes %d and %d", k.BlockSize(), k.GridSize())
		}
	})
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Errorf("thread %d ran %d times", i, n)
		}
	}
}

func TestReductionInSharedMemory(t *testing.T) {
	x := make([]int32, 1000)
	want := int32(0)
	for i := range x {
		x[i] = int32(i * i % 97)
		want += x[i]
	}
	var sum int32
	mustRun(t, gpu.D1(4), gpu.D1(256), func(k gpu.Thread) {
		part := gpu.Shared[[256]int32](k)
		i := k.Rank()
		part[i] = 0
		if g := k.GlobalX(); g < len(x) {
			part[i] = x[g]
		}
		for half := 128; half > 0; half /= 2 {
			k.Sync()
			if i < half {
				part[i] += part[i+half]
			}
		}
		if i == 0 {
			gpu.AtomicAdd(&sum, part[0])
		}
	})
	if sum != want {
		t.Errorf("sum %d, want %d", sum, want)
	}
}

func TestWarpSumByShuffles(t *testing.T) {
	var sums [3]float64
	mustRun(t, gpu.D1(1), gpu.D1(96), func(k gpu.Thread) {
		v := float64(k.Rank())
		for d := 16; d > 0; d /= 2 {
			v += gpu.ShuffleXor(k, v, d)
		}
		if k.Lane() == 31 {
			sums[k.Warp()] = v
		}
	})
	if sums != [3]float64{496, 1520, 2544} {
		t.Errorf("sums %v", sums)
	}
}

func TestPanicNamesThreadAndLine(t *testing.T) {
	x := make([]int, 100)
	err := gpu.Run(gpu.D1(8), gpu.D1(32), func(k gpu.Thread) {
		x[k.GlobalX()] = 1 // the line
		k.Sync()
	})
	var p *gpu.Panic
	if !errors.As(err, &p) {
		t.Fatalf("error %v", err)
	}
	if p.Block != gpu.D3(3, 0, 0) || p.Thread != gpu.D3(4, 0, 0) {
		t.Errorf("block %v, thread %v", p.Block, p.Thread)
	}
	if !strings.HasSuffix(p.Frame.File, "run_test.go") || !strings.Contains(err.Error(), "index out of range [100] with length 100") {
		t.Errorf("%v", err)
	}
}

func TestDeadlockNamesTheLines(t *testing.T) {
	err := gpu.Run(gpu.D1(1), gpu.D1(64), func(k gpu.Thread) {
		if k.Rank() < 32 {
			k.BarrierSync(1, 64)
		} else {
			k.Sync()
		}
	})
	var d *gpu.Deadlock
	if !errors.As(err, &d) || len(d.Waits) != 64 {
		t.Fatalf("error %v", err)
	}
	if d.Waits[0].For != "BarrierSync(1, 64)" || d.Waits[63].For != "Sync" || d.Waits[0].Frame.Line+2 != d.Waits[63].Frame.Line {
		t.Errorf("%v", err)
	}
}
