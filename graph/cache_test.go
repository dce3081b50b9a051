package graph_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) cache(opts ...graph.CacheOption) *graph.Cache {
	k.Helper()
	c, err := graph.NewCache(k.c, opts...)
	k.ok(err)
	k.closeLater(c)
	return c
}

func (k *kit) from(c *graph.Cache, s *driver.Stream, n int) *driver.Buffer[uint32] {
	k.Helper()
	b, err := graph.AllocFrom[uint32](c, s, n)
	k.ok(err)
	k.closeLater(b)
	return b
}

// Blocks go round within a stream, without a call of the driver.
func TestCacheReusesBlocksOfAStream(t *testing.T) {
	each(t, func(k *kit) {
		c, other := k.cache(), k.stream()
		a := k.from(c, k.s, elems)
		at := a.Ptr()
		k.ok(k.s.Do(k.launch(k.plus, a, 1)))
		k.ok(c.Free(k.s, a))
		elsewhere := k.from(c, other, elems)
		if elsewhere.Ptr() == at {
			t.Error("a stream got the block of another stream's unfinished work")
		}
		b := k.from(c, k.s, elems-1) // of the same size class
		if b.Ptr() != at || b.Len() != elems-1 {
			t.Errorf("got %v at %#x, want the block at %#x", b, b.Ptr(), at)
		}
		k.ok(b.Close()) // the same as Free on its stream
		if again := k.from(c, k.s, elems); again.Ptr() != at {
			t.Error("Close did not give the block back")
		}
		if big := k.from(c, k.s, 3<<20); big.Bytes() != 12<<20 {
			t.Errorf("%v", big)
		}
		if s := c.Stats(); s.Allocated != 3 || s.Reused != 2 || s.InUse != 2*512+12<<20 || s.Free != 0 {
			t.Errorf("%+v", s)
		}
		k.wait(k.s)
	})
}

func TestCacheTrimGivesBackWhatIsFree(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		a, b := k.from(c, k.s, 1<<20), k.from(c, k.s, 1<<20)
		k.ok(c.Free(k.s, a))
		n, err := c.Trim()
		k.ok(err)
		if s := c.Stats(); n != 4<<20 || s.Free != 0 || s.InUse != 4<<20 {
			t.Errorf("%d bytes, %+v", n, s)
		}
		k.ok(k.s.Do(k.launch(k.plus, b, 1)))
		k.wait(k.s)
	})
}

// When the device is full, what is free in the cache makes room.
func TestCacheGivesUpWhatIsFreeWhenMemoryIsShort(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{LimitMemory: 16 << 20}, func(t *testing.T, ctx *driver.Context) {
		k := newKit(t, ctx)
		c := k.cache()
		a := k.from(c, k.s, 2<<20)
		k.ok(c.Free(k.s, a))
		k.from(c, k.s, 3<<20)
		if _, err := graph.AllocFrom[uint32](c, k.s, 3<<20); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("got %v", err)
		}
	})
}

// A buffer that a graph refers to comes back with the graph.
func TestCacheWaitsForGraphsThatReferToABlock(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b := k.from(c, k.s, elems)
		at := b.Ptr()
		g := k.graph()
		k.fill(g, b, 3)
		k.ok(c.Free(k.s, b))
		if k.from(c, k.s, elems).Ptr() == at {
			t.Error("a block was handed out that a graph refers to")
		}
		k.ok(g.Close())
		if k.from(c, k.s, elems).Ptr() != at {
			t.Error("the block did not come back with the graph")
		}
	})
}

// A capture gets blocks of its own, which are nobody else's as long as the graph
// or an exec lives, and are the cache's again afterwards.
func TestCaptureGetsFixedBlocksFromTheCache(t *testing.T) {
	for _, mode := range []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed} {
		t.Run(mode.String(), func(t *testing.T) {
			each(t, func(k *kit) { k.fixedBlocks(mode) })
		})
	}
}

func (k *kit) fixedBlocks(mode graph.Mode) {
	k.Helper()
	c := k.cache()
	outside := k.from(c, k.s, elems)
	free := outside.Ptr()
	k.ok(c.Free(k.s, outside))
	var inside []driver.CUdeviceptr
	var out *driver.Buffer[uint32]
	g, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
		for i := range uint32(3) {
			tmp := k.from(c, sc.Stream(), elems)
			inside = append(inside, tmp.Ptr())
			set, err := driver.Fill(tmp, 5+i)
			k.ok(err)
			k.ok(sc.Do(set))
			if i < 2 {
				k.ok(c.Free(sc.Stream(), tmp))
				continue
			}
			out = tmp
		}
		return nil
	})
	k.ok(err)
	if inside[0] == free || inside[1] != inside[0] || inside[2] != inside[0] {
		k.Errorf("blocks %#x in the capture, %#x was free outside", inside, free)
	}
	x, err := g.Instantiate()
	k.ok(err)
	k.run(x)
	k.expect(out, 7)
	k.ok(c.Free(k.s, out))
	k.ok(g.Close())
	if p := k.from(c, k.s, elems).Ptr(); p != free {
		k.Errorf("got %#x while the graph lives, want %#x", p, free)
	}
	if p := k.from(c, k.s, elems).Ptr(); p == inside[0] {
		k.Error("the graph's block was handed out while an exec lives")
	}
	k.run(x)
	k.ok(x.Close())
	graph.WaitParked()
	if p := k.from(c, k.s, elems).Ptr(); p != inside[0] {
		k.Errorf("the graph's block did not come back: got %#x, want %#x", p, inside[0])
	}
	if s := c.Stats(); s.OfGraphs != 0 {
		k.Errorf("%+v", s)
	}
}

// The output of a closed graph stays as long as its buffer.
func TestCacheBlockOfAClosedGraphStaysWithItsBuffer(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var out *driver.Buffer[uint32]
		g := k.capture(func(sc *graph.Scope) error {
			out = k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(out, uint32(9))
			return errors.Join(err, sc.Do(set))
		})
		x := k.exec(g)
		k.run(x)
		k.ok(x.Close())
		k.ok(g.Close())
		graph.WaitParked()
		at := out.Ptr()
		if k.from(c, k.s, elems).Ptr() == at {
			t.Error("the output's block was handed out")
		}
		k.expect(out, 9)
		k.ok(c.Free(k.s, out))
		if k.from(c, k.s, elems).Ptr() != at {
			t.Error("the block did not come back")
		}
	})
}

// However a capture ends, its blocks are the cache's again, and the stream
// allocates from the cache as before.
func TestCacheThawsOnEveryPath(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		use := func(sc *graph.Scope) {
			b := k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(b, uint32(1))
			k.ok(err)
			k.ok(sc.Do(set))
			k.ok(c.Free(sc.Stream(), b))
		}
		capture := func(end func(sc *graph.Scope) error) error {
			_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
				use(sc)
				return end(sc)
			})
			return err
		}
		for what, end := range map[string]func() error{
			"error": func() error { return capture(func(*graph.Scope) error { return errRecord }) },
			"panic": func() (err error) {
				defer func() {
					if recover() != nil {
						err = errRecord
					}
				}()
				return capture(func(*graph.Scope) error { panic("in a capture") })
			},
			"Goexit": func() error {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = capture(func(*graph.Scope) error { runtime.Goexit(); return nil })
				}()
				<-done
				return errRecord
			},
			"invalidated": func() error {
				return capture(func(sc *graph.Scope) error {
					_ = k.c.Driver().CuStreamSynchronize(sc.Stream().Raw())
					return nil
				})
			},
			"aborted": func() error {
				r, err := graph.Begin(k.s, graph.ModeGlobal)
				if err != nil {
					return err
				}
				use(r.Scope())
				return errors.Join(errRecord, r.Abort())
			},
		} {
			if end() == nil {
				t.Errorf("%s: no error", what)
			}
			if s := c.Stats(); s.OfGraphs != 0 || s.InUse != 0 || s.Free != 512*s.Allocated {
				t.Errorf("%s: %+v", what, s)
			}
			b := k.from(c, k.s, elems)
			k.ok(c.Free(k.s, b))
			k.usable(k.s)
		}
	})
}

// Captures that other code began hold their blocks too.
func TestCacheInACaptureOfOtherCode(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		d := k.c.Driver()
		k.ok(d.CuStreamBeginCapture(k.s.Raw(), graph.ModeThreadLocal))
		b := k.from(c, k.s, elems)
		at := b.Ptr()
		set, err := driver.Fill(b, uint32(4))
		k.ok(err)
		k.ok(k.s.Do(set))
		k.ok(c.Free(k.s, b))
		var raw driver.CUgraph
		k.ok(d.CuStreamEndCapture(k.s.Raw(), &raw))
		if k.from(c, k.s, elems).Ptr() == at || c.Stats().OfGraphs != 512 {
			t.Errorf("the graph's block was handed out: %+v", c.Stats())
		}
		k.ok(d.CuGraphDestroy(raw))
		// A thread of the driver tells that the graph is gone.
		k.eventually("the graph's blocks coming back", func() bool { return c.Stats().OfGraphs == 0 })
		if s := c.Stats(); s.Free != 512 {
			t.Errorf("the block is not free: %+v", s)
		}
	})
}

// With nodes, allocations in a capture become the graph's, and the cache is as
// if there had been none.
func TestCaptureFreezesTheCacheAndRecordsNodes(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		c, out := k.cache(graph.WithAllocNodes()), k.memory()
		idle := k.from(c, k.s, elems)
		k.ok(c.Free(k.s, idle))
		var left *driver.Buffer[uint32]
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			tmp := k.from(c, sc.Stream(), elems)
			left = k.from(c, sc.Stream(), elems)
			for _, b := range []*driver.Buffer[uint32]{tmp, left} {
				set, err := driver.Fill(b, uint32(21))
				k.ok(err)
				k.ok(sc.Do(set))
			}
			sum, err := k.sum.Prepare(config, out, tmp, left, uint32(elems))
			k.ok(err)
			return errors.Join(sc.Do(sum), c.Free(sc.Stream(), tmp))
		})
		k.ok(err)
		k.closeLater(g)
		if s := c.Stats(); s.Free != 512 || s.OfGraphs != 0 || s.Allocated != 1 {
			t.Errorf("%+v", s)
		}
		x := k.exec(g, graph.WithAutoFree())
		for range 3 {
			k.ok(out.Fill(0))
			k.run(x)
			k.expect(out, 42)
			k.expect(left, 21)
		}
		if b := k.from(c, k.s, elems); b.Ptr() == left.Ptr() || c.Stats().Reused != 1 {
			t.Error("the cache did not thaw")
		}
		k.ok(c.Free(k.s, left))
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
	})
}

func TestCacheSizeZeroIsNoAllocation(t *testing.T) {
	each(t, func(k *kit) {
		for _, c := range []*graph.Cache{k.cache(), k.cache(graph.WithAllocNodes())} {
			b := k.from(c, k.s, 0)
			if b.Ptr() != 0 || b.Len() != 0 {
				t.Errorf("%v", b)
			}
			k.ok(c.Free(k.s, b))
			g := k.capture(func(sc *graph.Scope) error {
				b := k.from(c, sc.Stream(), 0)
				return c.Free(sc.Stream(), b)
			})
			if n, err := g.Len(); err != nil || n != 0 {
				t.Errorf("%d nodes, %v", n, err)
			}
			if s := c.Stats(); s != (graph.CacheStats{}) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// After shutdown, buffers stay good and their memory goes to the driver.
func TestCacheFreesToTheDriverAfterItsEnd(t *testing.T) {
	each(t, func(k *kit) {
		c, err := graph.NewCache(k.c)
		k.ok(err)
		b, idle := k.from(c, k.s, elems), k.from(c, k.s, elems)
		k.ok(c.Free(k.s, idle))
		g := k.capture(func(sc *graph.Scope) error {
			tmp := k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(tmp, uint32(1))
			k.ok(err)
			return errors.Join(sc.Do(set), c.Free(sc.Stream(), tmp))
		})
		x := k.exec(g)
		k.ok(c.Close())
		k.ok(c.Close())
		if _, err := graph.AllocFrom[uint32](c, k.s, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed cache: %v", err)
		}
		k.ok(k.s.Do(k.launch(k.plus, b, 1)))
		k.run(x)
		k.ok(c.Free(k.s, b))
		if _, err := c.Trim(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed cache: %v", err)
		}
		k.ok(x.Close())
		k.ok(g.Close())
		graph.WaitParked()
		if s := c.Stats(); s.InUse != 0 || s.Free != 0 || s.OfGraphs != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCacheRefusesWhatIsNotItsOwn(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b, other := k.from(c, k.s, elems), k.memory()
		k.expectReason("other memory", c.Free(k.s, other), driver.CUDA_ERROR_INVALID_VALUE, "not a buffer of it")
		k.ok(c.Free(k.s, b))
		for what, err := range map[string]error{
			"second free": c.Free(k.s, b), "nil buffer": c.Free(k.s, nil), "nil stream": c.Free(nil, other),
			"nil cache": (*graph.Cache)(nil).Free(k.s, other), "nil Close": errors.Join((*graph.Cache)(nil).Close(), driver.ErrClosed),
		} {
			if !errors.Is(err, driver.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := graph.AllocFrom[uint32](nil, k.s, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("nil cache: %v", err)
		}
		if _, err := graph.AllocFrom[uint32](c, nil, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("nil stream: %v", err)
		}
		for what, err := range map[string]error{
			"negative": second(graph.AllocFrom[uint32](c, k.s, -1)), "too long": second(graph.AllocFrom[uint64](c, k.s, 1<<61)),
			"pointers": second(graph.AllocFrom[*int](c, k.s, 1)),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestCacheIsForAllGoroutines(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var wg sync.WaitGroup
		for i := range 6 {
			s := k.stream()
			wg.Go(func() {
				for j := range 40 {
					if err := k.churn(c, s, i*100+j); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		graph.WaitParked()
		if s := c.Stats(); s.InUse != 0 || s.OfGraphs != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// churn allocates, in every fourth round in a capture, and looks whether the
// memory is its own.
func (k *kit) churn(c *graph.Cache, s *driver.Stream, v int) error {
	b, err := graph.AllocFrom[uint32](c, s, elems)
	if err != nil {
		return err
	}
	set, err := driver.Fill(b, uint32(v))
	if err != nil {
		return errors.Join(err, b.Close())
	}
	got := make([]uint32, elems)
	if err := errors.Join(s.Do(set), s.Wait(background), b.CopyTo(got)); err != nil {
		return errors.Join(err, b.Close())
	}
	if got[elems-1] != uint32(v) {
		err = errors.New("somebody else wrote into the block")
	}
	if v%4 == 0 {
		err = errors.Join(err, k.churnCaptured(c, s))
	}
	return errors.Join(err, c.Free(s, b))
}

func (k *kit) churnCaptured(c *graph.Cache, s *driver.Stream) error {
	g, err := graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error {
		b, err := graph.AllocFrom[uint32](c, s, elems)
		if err != nil {
			return err
		}
		set, err := driver.Fill(b, uint32(1))
		return errors.Join(err, sc.Do(set), c.Free(s, b))
	})
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(x.Run(background, s), x.Close(), g.Close())
}

// Streams that are forked into a capture share its blocks, each in its order.
func TestCacheServesForkedStreams(t *testing.T) {
	each(t, func(k *kit) {
		c, other, out := k.cache(), k.stream(), k.memory()
		var here, there *driver.Buffer[uint32]
		g := k.capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.ok(err)
			here, there = k.from(c, k.s, elems), k.from(c, other, elems)
			k.ok(c.Free(other, there))
			if again := k.from(c, other, elems); again.Ptr() != there.Ptr() {
				t.Error("the fork did not get its block again")
			} else {
				there = again
			}
			for s, b := range map[*graph.Scope]*driver.Buffer[uint32]{sc: here, f: there} {
				set, err := driver.Fill(b, uint32(21))
				k.ok(err)
				k.ok(s.Do(set))
			}
			k.ok(sc.Join(f))
			sum, err := k.sum.Prepare(config, out, here, there, uint32(elems))
			k.ok(err)
			return sc.Do(sum)
		})
		if here.Ptr() == there.Ptr() {
			t.Error("two streams got one block")
		}
		x := k.exec(g)
		k.run(x)
		k.expect(out, 42)
		if s := c.Stats(); s.OfGraphs != 1024 {
			t.Errorf("%+v", s)
		}
	})
}

func TestMemoryOfACaptureThatEndedIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		op, err := driver.NewAlloc[uint32](k.c, nil, elems)
		k.ok(err)
		var scope *graph.Scope
		var b *driver.Buffer[uint32]
		g := k.capture(func(sc *graph.Scope) error {
			scope = sc
			b, err = graph.Allocate(sc, op)
			return err
		})
		k.closeLater(b)
		free, err := driver.NewFree(b)
		k.ok(err)
		if _, err := graph.Allocate(scope, op); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("Allocate: %v", err)
		}
		if err := scope.Free(free); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("Free: %v", err)
		}
		k.run(k.exec(g))
	})
}
