package gpu_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

func TestLoadsStoresAndPrefetches(t *testing.T) {
	x := [8]int32{1, 2, 3, 4, 5, 6, 7, 8}
	if got := gpu.LoadNC((*[4]int32)(x[2:])); got != [4]int32{3, 4, 5, 6} {
		t.Errorf("LoadNC %v", got)
	}
	for _, hint := range []gpu.CacheHint{gpu.CacheAll, gpu.CacheGlobal, gpu.CacheStreaming, gpu.CacheLastUse, gpu.CacheVolatile} {
		gpu.StoreCached(&x[1], int32(hint)+20, hint)
		if got := gpu.LoadCached(&x[1], hint); got != int32(hint)+20 {
			t.Errorf("hint %d: %d", hint, got)
		}
	}
	gpu.PrefetchL1(&x[0])
	gpu.PrefetchL2(&x[7])
	k := gpu.Thread{}
	k.FenceBlock()
	k.FenceDevice()
	k.FenceSystem()
	k.FenceAsync()
	k.GridDependencySync()
	k.GridLaunchDependents()
}

// Run must perform a copy only at WaitGroup, so that a kernel without the necessary wait reads old
// values.
func TestCopyAsyncIsCompleteAfterTheWait(t *testing.T) {
	src := []int64{1, 2, 3, 4}
	mustRun(t, gpu.D1(1), gpu.D1(1), func(k gpu.Thread) {
		dst := gpu.Shared[[4]int64](k)
		*dst = [4]int64{9, 9, 9, 9}
		want := func(what string, w [4]int64) {
			if *dst != w {
				t.Errorf("%s: %v, want %v", what, *dst, w)
			}
		}
		gpu.CopyAsync(k, &dst[0], &src[0])
		k.CommitGroup()
		gpu.CopyAsync(k, &dst[1], &src[1])
		gpu.CopyAsyncIf(k, &dst[2], nil, false)
		k.CommitGroup()
		gpu.CopyAsyncIf(k, &dst[3], &src[3], true)
		want("after two groups", [4]int64{9, 9, 9, 9})
		k.WaitGroup(2)
		want("after WaitGroup(2)", [4]int64{9, 9, 9, 9})
		k.WaitGroup(1)
		want("after WaitGroup(1)", [4]int64{1, 9, 9, 9})
		k.WaitGroup(0)
		want("after WaitGroup(0)", [4]int64{1, 2, 0, 9})
		k.CommitGroup()
		k.WaitGroup(0)
		want("after the third group", [4]int64{1, 2, 0, 4})
	})
}

func TestBulkCopies(t *testing.T) {
	src := make([]float32, 256)
	for i := range src {
		src[i] = float32(i)
	}
	out := make([]float32, 256)
	mustRun(t, gpu.D1(4), gpu.D1(64), func(k gpu.Thread) {
		tile := gpu.Shared[[64]float32](k)
		bar := gpu.Shared[gpu.Barrier](k)
		base := 64 * k.BlockX()
		if k.Rank() == 0 {
			bar.Init(k, 1)
			k.FenceAsync()
		}
		k.Sync()
		if k.Rank() == 0 {
			bar.ArriveExpect(k, 256)
			gpu.CopyBulk(k, tile[:32], src[base:base+32], bar)
			if bar.TestParity(k, 0) {
				t.Error("the phase is complete after half of the bytes")
			}
			gpu.CopyBulk(k, tile[32:], src[base+32:base+64], bar)
		}
		bar.WaitParity(k, 0)
		tile[k.Rank()] *= 2
		k.FenceAsync()
		k.Sync()
		if k.Rank() == 0 {
			gpu.CopyBulkOut(k, out[base:base+64], tile[:])
			k.CommitBulkGroup()
			if out[base+1] != 0 {
				t.Error("the copy is visible before the wait")
			}
			k.WaitBulkGroup(0)
			if out[base+1] == 0 {
				t.Error("the copy is not visible after the wait")
			}
		}
	})
	for i, x := range out {
		if x != float32(2*i) {
			t.Errorf("out[%d] is %v", i, x)
		}
	}
}

// The waiting threads arrive before the thread that starts the copy.
func TestBulkCopyWakesWaitingThreads(t *testing.T) {
	src := []int64{5, 6}
	mustRun(t, gpu.D1(1), gpu.D1(64), func(k gpu.Thread) {
		dst := gpu.Shared[[2]int64](k)
		bar := gpu.Shared[gpu.Barrier](k)
		waiting := gpu.Shared[uint32](k)
		if k.Rank() == 0 {
			bar.Init(k, 1)
			*waiting = 0
		}
		k.Sync()
		if k.Rank() == 0 {
			for gpu.AtomicLoad(waiting) < 63 {
				k.Sleep(100)
			}
			bar.ArriveExpect(k, 16)
			gpu.CopyBulk(k, dst[:], src, bar)
			return
		}
		gpu.AtomicAdd(waiting, 1)
		bar.WaitParity(k, 0)
		if *dst != [2]int64{5, 6} {
			t.Errorf("%v", *dst)
		}
	})
}

func TestBarrierPhases(t *testing.T) {
	const threads, rounds = 96, 50
	mustRun(t, gpu.D1(2), gpu.D1(threads), func(k gpu.Thread) {
		bar := gpu.Shared[gpu.Barrier](k)
		n := gpu.Shared[uint32](k)
		if k.Rank() == 0 {
			*n = 0
			bar.Init(k, threads)
		}
		k.Sync()
		if !bar.TestParity(k, 1) || bar.TestParity(k, 0) {
			t.Error("the parity of the first phase is wrong")
		}
		k.Sync()
		for i := range rounds {
			gpu.AtomicAdd(n, 1)
			phase := bar.Arrive(k)
			bar.Wait(k, phase)
			if !bar.Test(k, phase) {
				t.Error("the phase is not complete after Wait")
			}
			if got := gpu.AtomicLoad(n); got < uint32((i+1)*threads) {
				t.Errorf("round %d: %d arrivals", i, got)
			}
			k.Sync()
		}
		if k.Rank() >= 32 {
			bar.ArriveDrop(k)
			return
		}
		bar.Wait(k, bar.Arrive(k))
		if k.Rank() == 0 {
			if phase := bar.ArriveCount(k, 31); bar.Test(k, phase) {
				t.Error("the phase is complete with an arrival missing")
			}
			if phase := bar.Arrive(k); !bar.Test(k, phase) {
				t.Error("dropped threads still count")
			}
			bar.Invalidate(k)
		}
	})
}

func TestMisuseOfBarriers(t *testing.T) {
	for text, kernel := range map[string]func(k gpu.Thread, b *gpu.Barrier){
		"Barrier.Arrive: the Barrier is not initialized": func(k gpu.Thread, b *gpu.Barrier) { b.Arrive(k) },
		"Barrier.Wait: the Barrier is not initialized":   func(k gpu.Thread, b *gpu.Barrier) { b.WaitParity(k, 1) },
		"Barrier.Test: the Barrier is not initialized": func(k gpu.Thread, b *gpu.Barrier) {
			b.Init(k, 1)
			b.Invalidate(k)
			b.TestParity(k, 1)
		},
		"CopyBulk: the Barrier is not initialized": func(k gpu.Thread, b *gpu.Barrier) { gpu.CopyBulk[int64](k, nil, nil, b) },
		"0 arrivals are not possible":              func(k gpu.Thread, b *gpu.Barrier) { b.Init(k, 0) },
		"3 arrivals, but the phase expects 2 more": func(k gpu.Thread, b *gpu.Barrier) {
			b.Init(k, 3)
			b.Arrive(k)
			b.ArriveCount(k, 3)
		},
		"at most 1048575 are possible": func(k gpu.Thread, b *gpu.Barrier) {
			b.Init(k, 3)
			b.ArriveExpect(k, 1<<20)
		},
		"a bulk copy of 2 elements to 1 elements": func(k gpu.Thread, b *gpu.Barrier) {
			gpu.CopyBulkOut(k, make([]int64, 1), make([]int64, 2))
		},
		"a bulk copy of 8 bytes": func(k gpu.Thread, b *gpu.Barrier) {
			gpu.CopyBulkOut(k, make([]int64, 1), make([]int64, 1))
		},
	} {
		wantPanic(t, text, gpu.D1(1), gpu.D1(1), func(k gpu.Thread) { kernel(k, gpu.Shared[gpu.Barrier](k)) })
	}
}
