package gpu_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

// wantPanic runs a kernel and checks that it fails with a Panic whose message contains text.
func wantPanic(t *testing.T, text string, grid, block gpu.Dim, kernel func(gpu.Thread), options ...gpu.Option) *gpu.Panic {
	t.Helper()
	err := gpu.Run(grid, block, kernel, options...)
	var p *gpu.Panic
	if !errors.As(err, &p) || !strings.Contains(err.Error(), text) {
		t.Fatalf("error %v, want a Panic with %q", err, text)
	}
	return p
}

// wantDeadlock runs a kernel and returns descriptions of the waits in its Deadlock, sorted and
// without duplicates.
func wantDeadlock(t *testing.T, grid, block gpu.Dim, kernel func(gpu.Thread), options ...gpu.Option) []string {
	t.Helper()
	err := gpu.Run(grid, block, kernel, options...)
	var d *gpu.Deadlock
	if !errors.As(err, &d) {
		t.Fatalf("error %v, want a Deadlock", err)
	}
	var waits []string
	for _, w := range d.Waits {
		if w.Frame.Line == 0 || !strings.HasSuffix(w.Frame.File, "_test.go") {
			t.Errorf("a wait at %s:%d", w.Frame.File, w.Frame.Line)
		}
		waits = append(waits, w.For)
	}
	slices.Sort(waits)
	return slices.Compact(waits)
}

func TestSyncCountsPredicates(t *testing.T) {
	mustRun(t, gpu.D1(3), gpu.D2(16, 5), func(k gpu.Thread) {
		for i := range 20 {
			n := k.SyncCount(k.Rank() < 3*i)
			if want := min(3*i, 80); n != want {
				t.Errorf("SyncCount is %d, want %d", n, want)
			}
			if got := k.SyncAnd(k.Rank() != i); got {
				t.Errorf("SyncAnd is true although thread %d has false", i)
			}
			if !k.SyncAnd(true) || k.SyncOr(false) || !k.SyncOr(k.Rank() == i) {
				t.Error("SyncAnd(true), SyncOr(false) or SyncOr of one thread is wrong")
			}
		}
	})
}

func TestSyncWaitsOnlyForThreadsThatHaveNotExited(t *testing.T) {
	var total int
	mustRun(t, gpu.D1(1), gpu.D1(100), func(k gpu.Thread) {
		if k.Rank() >= 70 {
			if k.Rank()%2 == 0 {
				k.Exit()
			}
			return
		}
		if n := k.SyncCount(true); k.Rank() == 0 {
			total = n
		}
	})
	if total != 70 {
		t.Errorf("%d threads arrived", total)
	}
}

func TestSyncAtDifferentLinesIsAPanic(t *testing.T) {
	p := wantPanic(t, "the threads of a block are at different barriers: this thread is in SyncOr, and thread (0,0,0) is in Sync at",
		gpu.D1(1), gpu.D1(64), func(k gpu.Thread) {
			if k.Rank() < 40 {
				k.Sync()
			} else {
				k.SyncOr(true)
			}
		})
	if p.Thread != gpu.D3(40, 0, 0) {
		t.Errorf("thread %v", p.Thread)
	}
}

// All threads execute the same barrier in a function that is called from several lines. That counts
// as one barrier.
func TestSyncInAHelper(t *testing.T) {
	helper := func(k gpu.Thread) { k.Sync() }
	mustRun(t, gpu.D1(1), gpu.D1(64), func(k gpu.Thread) {
		if k.Rank() < 40 {
			helper(k)
		} else {
			helper(k)
		}
	})
}

func TestNamedBarriers(t *testing.T) {
	var consumed [8]int
	mustRun(t, gpu.D1(1), gpu.D1(128), func(k gpu.Thread) {
		box := gpu.Shared[int](k)
		const full, empty = 1, 2
		for i := range consumed {
			if k.Warp() < 2 { // these warps are the producers
				if i > 0 {
					k.BarrierSync(empty, 128)
				}
				if k.Rank() == 0 {
					*box = i * i
				}
				k.BarrierArrive(full, 128)
				continue
			}
			k.BarrierSync(full, 128)
			if k.Rank() == 100 {
				consumed[i] = *box
			}
			if i < len(consumed)-1 {
				k.BarrierArrive(empty, 128)
			}
		}
	})
	if consumed != [8]int{0, 1, 4, 9, 16, 25, 36, 49} {
		t.Errorf("consumed %v", consumed)
	}
}

func TestMisuseOfNamedBarriers(t *testing.T) {
	for text, kernel := range map[string]func(gpu.Thread){
		"barrier 0 does not exist":         func(k gpu.Thread) { k.BarrierSync(0, 64) },
		"barrier 16 does not exist":        func(k gpu.Thread) { k.BarrierArrive(16, 64) },
		"barrier 3 for 48 threads":         func(k gpu.Thread) { k.BarrierSync(3, 48) },
		"barrier 3 for 96 threads":         func(k gpu.Thread) { k.BarrierSync(3, 96) },
		"in an earlier call (block":        func(k gpu.Thread) { k.BarrierSync(3, 64-32*min(k.Rank(), 1)) },
		"ClusterWait was called without":   func(k gpu.Thread) { k.ClusterWait() },
		"ClusterArrive was called twice":   func(k gpu.Thread) { k.ClusterArrive(); k.ClusterArrive() },
		"GridSync requires a cooperative":  func(k gpu.Thread) { k.GridSync() },
		"does not contain the calling":     func(k gpu.Thread) { k.SyncWarpMask(1) },
		"MapShared: the cluster has 1":     func(k gpu.Thread) { gpu.MapShared(k, new(int), 1) },
		"the width 12 is not":              func(k gpu.Thread) { gpu.ShuffleMask(k, gpu.FullMask, 1, 0, 12) },
		"2 scopes and 0 orders":            func(k gpu.Thread) { gpu.AtomicAdd(new(int), 1, gpu.ScopeBlock, gpu.ScopeSystem) },
		"0 scopes and 2 orders":            func(k gpu.Thread) { gpu.AtomicLoad(new(int), gpu.Relaxed, gpu.Acquire) },
		"99 is not an option":              func(k gpu.Thread) { gpu.AtomicStore(new(int), 1, 99) },
		"9 is not a rounding mode":         func(k gpu.Thread) { gpu.AddRound(1.0, 2, 9) },
		"which has 12 bytes":               func(k gpu.Thread) { gpu.CopyAsync(k, new([3]int32), new([3]int32)) },
		"shared memory cannot hold string": func(k gpu.Thread) { gpu.DynamicShared[string](k) },
	} {
		wantPanic(t, text, gpu.D1(1), gpu.D1(64), kernel)
	}
}

func TestClusterBarrierAndSharedMemoryOfOtherBlocks(t *testing.T) {
	sums := make([]int, 16)
	mustRun(t, gpu.D2(8, 2), gpu.D1(32), func(k gpu.Thread) {
		mine := gpu.Shared[[32]int](k)
		dynamic := gpu.DynamicShared[int](k)
		mine[k.Rank()] = k.BlockRank() + 1000*(k.Rank()-5)
		dynamic[k.Rank()] = 100 + 1000*(31-k.Rank())
		k.ClusterSync()
		if k.Rank() == 0 {
			for rank := range k.ClusterSize() {
				sums[k.BlockRank()] += *gpu.MapShared(k, &mine[5], rank)
				sums[k.BlockRank()] += *gpu.MapShared(k, &dynamic[31], rank)
			}
		}
		k.ClusterArrive()
		k.ClusterWait()
		mine[k.Rank()] = -1
	}, gpu.Cluster(gpu.D2(2, 2)), gpu.SharedSize(32*8))
	for i, s := range sums {
		x := i % 8 / 2 * 2 // the cluster consists of blocks x, x+1, 8+x and 9+x
		if want := 400 + 4*x + 18; s != want {
			t.Errorf("block %d has sum %d, want %d", i, s, want)
		}
	}
}

func TestClusterIndices(t *testing.T) {
	mustRun(t, gpu.D3(4, 6, 2), gpu.D1(1), func(k gpu.Thread) {
		x, y, z := k.BlockX(), k.BlockY(), k.BlockZ()
		got := []int{k.ClusterX(), k.ClusterY(), k.ClusterZ(), k.ClusterBlockX(), k.ClusterBlockY(), k.ClusterBlockZ(),
			k.ClusterDimX(), k.ClusterDimY(), k.ClusterDimZ(), k.ClusterRank(), k.ClusterSize()}
		want := []int{x / 2, y / 3, z / 2, x % 2, y % 3, z % 2, 2, 3, 2, x%2 + 2*(y%3+3*(z%2)), 12}
		if !slices.Equal(got, want) {
			t.Errorf("block %d %d %d: %v, want %v", x, y, z, got, want)
		}
	}, gpu.Cluster(gpu.D3(2, 3, 2)))
}

// Each thread of the grid reads a value that another block has written before the barrier.
func TestGridSync(t *testing.T) {
	x := make([]int, 8*32)
	mustRun(t, gpu.D1(8), gpu.D1(32), func(k gpu.Thread) {
		i := k.GlobalX()
		if i == len(x)-1 {
			return // the other threads do not wait for this one
		}
		for range 3 {
			next := x[i+1] + 1
			k.GridSync()
			x[i] = next
			k.GridSync()
		}
	}, gpu.Cooperative())
	for i, v := range x {
		if want := min(len(x)-1-i, 3); v != want {
			t.Errorf("x[%d] is %d, want %d", i, v, want)
		}
	}
}

func TestDeadlocks(t *testing.T) {
	for name, c := range map[string]struct {
		kernel func(gpu.Thread)
		waits  []string
	}{
		"mask of lanes that do not come": {func(k gpu.Thread) {
			if k.Lane() < 16 {
				gpu.Ballot(k, true)
			} else {
				k.Sync()
			}
		}, []string{"Ballot (mask 0xffffffff)", "Sync"}},
		"different masks": {func(k gpu.Thread) {
			if k.Lane() < 16 {
				k.SyncWarpMask(0xffffffff)
			} else {
				k.SyncWarpMask(0xffff0000 | 1)
			}
		}, []string{"SyncWarp (mask 0xffff0001)", "SyncWarp (mask 0xffffffff)"}},
		"different operations": {func(k gpu.Thread) {
			if k.Lane() < 16 {
				gpu.ShuffleUp(k, 1, 1)
			} else {
				gpu.ShuffleDown(k, 1, 1)
			}
		}, []string{"ShuffleDown (mask 0xffffffff)", "ShuffleUp (mask 0xffffffff)"}},
		"different widths": {func(k gpu.Thread) {
			gpu.ShuffleMask(k, gpu.FullMask, 1, 0, 16<<(k.Lane()&1))
		}, []string{"Shuffle (mask 0xffffffff)"}},
		"a named barrier that is too large": {func(k gpu.Thread) {
			if k.Warp() == 0 {
				k.BarrierSync(1, 64)
			}
		}, []string{"BarrierSync(1, 64)"}},
		"a Barrier without arrivals": {func(k gpu.Thread) {
			b := gpu.Shared[gpu.Barrier](k)
			if k.Rank() == 0 {
				b.Init(k, 65)
			}
			k.Sync()
			b.Wait(k, b.Arrive(k))
		}, []string{"Barrier.Wait"}},
	} {
		if waits := wantDeadlock(t, gpu.D1(1), gpu.D1(64), c.kernel); !slices.Equal(waits, c.waits) {
			t.Errorf("%s: %q, want %q", name, waits, c.waits)
		}
	}
}

func TestDeadlockOfAClusterAndAGrid(t *testing.T) {
	kernel := func(k gpu.Thread) {
		if k.BlockX() == 1 {
			k.Sync()
			k.ClusterSync()
		}
		if k.Rank() == 0 {
			k.GridSync()
		} else {
			k.Sync()
		}
	}
	if w := wantDeadlock(t, gpu.D1(2), gpu.D1(64), kernel, gpu.Cooperative(), gpu.Cluster(gpu.D1(2))); !slices.Equal(w, []string{"ClusterWait", "GridSync", "Sync"}) {
		t.Errorf("waits %q", w)
	}
}
