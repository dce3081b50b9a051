package arena_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/internal/gputest"
)

type modelled struct {
	plan int
	b    *driver.Buffer[byte]
}

// In any order of allocations and closes, an open buffer must overlap no other open buffer, must be
// aligned, and must be placed at the lowest free address. A simple model computes that address.
// Graphs that still refer to closed buffers must not affect placement.
func TestPlacementFollowsTheModel(t *testing.T) {
	for _, opts := range [][]arena.Option{nil, {arena.WithoutMapping(), arena.WithChunk(64 << 20)}} {
		gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
			k := newKit(t, c)
			for seed := range uint64(20) {
				k.placeRandomly(rand.New(rand.NewPCG(seed, 7)), opts...)
			}
		})
	}
}

func (k *kit) placeRandomly(rnd *rand.Rand, opts ...arena.Option) {
	k.Helper()
	a, err := arena.New(k.C, opts...)
	k.OK(err)
	var plans []*arena.Plan
	for i := range 4 {
		plans = append(plans, k.plan(a, fmt.Sprint(i)))
	}
	first, err := arena.Alloc[byte](plans[0], 1)
	k.OK(err)
	base := uint64(first.Ptr())
	k.OK(first.Close())
	var open []modelled
	for step := range 200 {
		if len(open) > 0 && rnd.IntN(5) < 2 {
			i := rnd.IntN(len(open))
			k.OK(open[i].b.Close())
			open = append(open[:i], open[i+1:]...)
			continue
		}
		n := 1 + rnd.IntN(1<<rnd.IntN(20))
		m := modelled{plan: rnd.IntN(len(plans))}
		m.b, err = arena.Alloc[byte](plans[m.plan], n)
		k.OK(err)
		if at, want := uint64(m.b.Ptr()), lowest(base, open, uint64(n)); at != want || at%256 != 0 {
			k.Fatalf("step %d: %d bytes are at %#x, want %#x", step, n, at, want)
		}
		if rnd.IntN(3) == 0 {
			g := k.Graph()
			k.OK(g.Keep(m.b.Ref()))
		}
		open = append(open, m)
	}
	for _, m := range open {
		k.OK(m.b.Close())
	}
	k.OK(a.Close())
}

// lowest returns the lowest aligned address from base at which n bytes overlap no buffer.
func lowest(base uint64, open []modelled, n uint64) uint64 {
	for at := base; ; at += 256 {
		free := true
		for _, m := range open {
			if from := uint64(m.b.Ptr()); at < from+uint64(m.b.Bytes()) && from < at+n {
				free = false
			}
		}
		if free {
			return at
		}
	}
}

// Growth must not move any buffer, and a buffer may span the memory of several growths.
func TestGrowthKeepsAddressesAndContents(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		p := k.plan(a, "grows")
		var all []*driver.Buffer[uint32]
		for i := range 6 {
			b := k.alloc(p, 300<<10<<i/3) // 1.2 to 2.4 MB
			k.OK(b.Fill(uint32(i)))
			all = append(all, b)
		}
		if r := a.Report(); len(r.Chunks) < 3 {
			t := r.String()
			k.Errorf("the arena has not grown: %s", t)
		}
		for i, b := range all {
			got := make([]uint32, b.Len())
			k.OK(b.CopyTo(got))
			for j, v := range got {
				if v != uint32(i) {
					k.Fatalf("buffer %d, element %d: %d", i, j, v)
				}
			}
		}
	})
}

// Without mapped memory, the arena must work with separate chunks.
func TestSeparateChunks(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena(arena.WithoutMapping(), arena.WithChunk(1<<20))
		p, q := k.plan(a, "p"), k.plan(a, "q")
		b, c := k.alloc(p, 200<<10), k.alloc(p, 200<<10)
		k.OK(errors.Join(b.Fill(1), c.Fill(2)))
		k.Expect(b, 1)
		k.Expect(c, 2)
		if r := a.Report(); len(r.Chunks) != 2 || r.Bytes != 2<<20 {
			k.Errorf("%v", r)
		}
		at := c.Ptr()
		k.OK(p.Seal(b))
		if d := k.alloc(q, 200<<10); d.Ptr() != at {
			k.Errorf("at %#x, want %#x", d.Ptr(), at)
		}
	})
}

// The limit must hold, and the error must state the sizes. Closing buffers must make room.
func TestLimit(t *testing.T) {
	each(t, func(k *kit) {
		for _, opts := range [][]arena.Option{nil, {arena.WithoutMapping()}} {
			a := k.arena(append(opts, arena.WithLimit(4<<20))...)
			p := k.plan(a, "limited")
			b := k.alloc(p, 3<<20/4)
			_, err := arena.Alloc[byte](p, 2<<20)
			if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), "4194304 bytes") || !strings.Contains(err.Error(), `"limited"`) {
				k.Errorf("got %v", err)
			}
			k.OK(b.Close())
			k.alloc(p, 2<<20/4)
			if r := a.Report(); r.Bytes > 4<<20 {
				k.Errorf("%v", r)
			}
		}
	})
}

// If the device has too little memory for the usual growth, the arena must grow by only as much as
// necessary. If even that fails, the arena must remain usable.
func TestDeviceMemoryRunsOut(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{LimitMemory: 32 << 20}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		for _, opts := range [][]arena.Option{{arena.WithChunk(24 << 20)}, {arena.WithChunk(24 << 20), arena.WithoutMapping()}} {
			a, err := arena.New(k.C, opts...)
			k.OK(err)
			p := k.plan(a, "p")
			_, err = arena.Alloc[byte](p, 25<<20)
			k.OK(err)
			small, err := arena.Alloc[byte](p, 2<<20)
			k.OK(err)
			_, err = arena.Alloc[byte](p, 16<<20)
			if !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
				t.Errorf("got %v", err)
			}
			k.OK(small.Fill(1))
			k.OK(errors.Join(p.Close(), a.Close()))
		}
	})
}

func TestBuffersOfNoBytes(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		b := k.alloc(k.plan(a, "empty"), 0)
		if b.Ptr() != 0 || b.Len() != 0 || a.Report().Bytes != 0 {
			k.Errorf("%v, %v", b, a.Report())
		}
		k.OK(a.Check(b))
		if _, err := arena.Alloc[uint32](k.plan(a, "p"), -1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
	})
}

// A sealed plan must keep its results and reject allocations.
func TestSeal(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		p := k.plan(a, "sealed")
		temporary, result := k.alloc(p, elems), k.alloc(p, elems)
		k.OK(p.Seal(result.View(0, 1)))
		if err := temporary.Fill(1); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("the temporary buffer: %v", err)
		}
		k.OK(result.Fill(1))
		if _, err := arena.Alloc[uint32](p, 1); err == nil || !strings.Contains(err.Error(), "sealed") {
			k.Errorf("got %v", err)
		}
		if r := a.Report(); len(r.Plans) != 1 || len(r.Plans[0].Open) != 1 || r.Plans[0].Open[0].Ptr != uint64(result.Ptr()) {
			k.Errorf("%v", r)
		}
		k.OK(p.Close())
		if r := a.Report(); len(r.Plans) != 0 {
			k.Errorf("%v", r)
		}
	})
}

// Arena, plan, buffer, graph and Exec may be closed in any order. The memory must exist as long as
// the Exec can run, and nothing may leak.
func TestCloseInAnyOrder(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(30) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			a, err := arena.New(k.C)
			k.OK(err)
			p := k.plan(a, "p")
			b, err := arena.Alloc[uint32](p, elems)
			k.OK(err)
			fill, err := driver.Fill(b, uint32(3))
			k.OK(err)
			g, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				return sc.Do(fill, k.Launch(k.Plus, b, 1))
			})
			k.OK(err)
			x, err := g.Instantiate()
			k.OK(err)
			launched := rnd.IntN(2) == 0
			if launched {
				k.OK(x.Launch(k.S))
			}
			closers := []interface{ Close() error }{a, p, b, g, x}
			rnd.Shuffle(len(closers), func(i, j int) { closers[i], closers[j] = closers[j], closers[i] })
			running := true
			for _, c := range closers {
				k.OK(c.Close())
				running = running && c != x
				if running && rnd.IntN(2) == 0 {
					k.OK(x.Launch(k.S))
				}
			}
			if _, err := arena.Alloc[uint32](p, 1); err == nil {
				k.Error("a closed arena allocates")
			}
			if _, err := a.Plan("late"); !errors.Is(err, driver.ErrClosed) {
				k.Errorf("got %v", err)
			}
			k.Wait(k.S)
		}
	})
}

// The plan must keep buffers that the program dropped until Seal closes them. Otherwise they would
// count as leaks, and other buffers could get their range while the graph is recorded.
func TestPlanKeepsBuffersReachable(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		p := k.plan(a, "p")
		for range 100 {
			_, err := arena.Alloc[uint32](p, elems)
			k.OK(err)
		}
		for range 3 {
			runtime.GC()
		}
		if n := len(a.Report().Plans[0].Open); n != 100 {
			k.Errorf("%d of 100 buffers are open", n)
		}
		k.OK(p.Seal())
		if n := len(a.Report().Plans); n != 1 {
			k.Errorf("%d plans", n)
		}
	})
}

// A range that several buffers of a plan used one after the other must count once.
func TestReportCountsMemoryOnce(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		p := k.plan(a, "p")
		large := k.alloc(p, 1000)
		k.OK(errors.Join(k.Graph().Keep(large.Ref()), large.Close()))
		small := k.alloc(p, 100)
		r := a.Report().Plans[0]
		want := arena.Range{Ptr: uint64(small.Ptr()), Bytes: 4000}
		if r.Bytes != 4000 || len(r.Ranges) != 1 || r.Ranges[0] != want || len(r.Open) != 1 {
			k.Errorf("got %+v, want one range %+v", r, want)
		}
	})
}
