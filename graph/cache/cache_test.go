package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) from(c *cache.Cache, s *driver.Stream, n int) *driver.Buffer[uint32] {
	k.Helper()
	b, err := cache.Alloc[uint32](c, s, n)
	k.OK(err)
	k.CloseLater(b)
	return b
}

// Within a stream, the cache must reuse blocks without calling the driver.
func TestCacheReusesBlocksOfAStream(t *testing.T) {
	each(t, func(k *kit) {
		c, other := k.cache(), k.Stream()
		a := k.from(c, k.S, elems)
		at := a.Ptr()
		k.OK(k.S.Do(k.Launch(k.Plus, a, 1)))
		k.OK(c.Free(k.S, a))
		elsewhere := k.from(c, other, elems)
		if elsewhere.Ptr() == at {
			t.Error("a stream got the block of another stream's unfinished work")
		}
		b := k.from(c, k.S, elems-1) // has the same size class
		if b.Ptr() != at || b.Len() != elems-1 {
			t.Errorf("got %v at %#x, want the block at %#x", b, b.Ptr(), at)
		}
		k.OK(b.Close()) // the same as Free on the buffer's own stream
		if again := k.from(c, k.S, elems); again.Ptr() != at {
			t.Error("Close did not give the block back")
		}
		if big := k.from(c, k.S, 3<<20); big.Bytes() != 12<<20 {
			t.Errorf("%v", big)
		}
		if s := c.Stats(); s.Allocated != 3 || s.Reused != 2 || s.InUse != 2*512+12<<20 || s.Free != 0 {
			t.Errorf("%+v", s)
		}
		k.Wait(k.S)
	})
}

func TestCacheTrimGivesBackWhatIsFree(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		a, b := k.from(c, k.S, 1<<20), k.from(c, k.S, 1<<20)
		k.OK(c.Free(k.S, a))
		n, err := c.Trim()
		k.OK(err)
		if s := c.Stats(); n != 4<<20 || s.Free != 0 || s.InUse != 4<<20 {
			t.Errorf("%d bytes, %+v", n, s)
		}
		k.OK(k.S.Do(k.Launch(k.Plus, b, 1)))
		k.Wait(k.S)
	})
}

func TestCacheGivesUpWhatIsFreeWhenMemoryIsShort(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{LimitMemory: 16 << 20}, func(t *testing.T, ctx *driver.Context) {
		k := newKit(t, ctx)
		c := k.cache()
		a := k.from(c, k.S, 2<<20)
		k.OK(c.Free(k.S, a))
		k.from(c, k.S, 3<<20)
		if _, err := cache.Alloc[uint32](c, k.S, 3<<20); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("got %v", err)
		}
	})
}

// If a buffer is closed while a graph refers to it, its block must return to the cache when the
// graph is closed.
func TestCacheWaitsForGraphsThatReferToABlock(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b := k.from(c, k.S, elems)
		at := b.Ptr()
		g := k.Graph()
		k.Fill(g, b, 3)
		k.OK(c.Free(k.S, b))
		if k.from(c, k.S, elems).Ptr() == at {
			t.Error("a block was handed out that a graph refers to")
		}
		k.OK(g.Close())
		if k.from(c, k.S, elems).Ptr() != at {
			t.Error("the block did not come back with the graph")
		}
	})
}

// A capture gets its own blocks. Nothing else may use them while the graph or an Exec lives.
// Afterwards they return to the cache.
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
	outside := k.from(c, k.S, elems)
	free := outside.Ptr()
	k.OK(c.Free(k.S, outside))
	var inside []driver.CUdeviceptr
	var out *driver.Buffer[uint32]
	g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
		for i := range uint32(3) {
			tmp := k.from(c, sc.Stream(), elems)
			inside = append(inside, tmp.Ptr())
			set, err := driver.Fill(tmp, 5+i)
			k.OK(err)
			k.OK(sc.Do(set))
			if i < 2 {
				k.OK(c.Free(sc.Stream(), tmp))
				continue
			}
			out = tmp
		}
		return nil
	})
	k.OK(err)
	if inside[0] == free || inside[1] != inside[0] || inside[2] != inside[0] {
		k.Errorf("blocks %#x in the capture, %#x was free outside", inside, free)
	}
	x, err := g.Instantiate()
	k.OK(err)
	k.Run(x)
	k.Expect(out, 7)
	k.OK(c.Free(k.S, out))
	k.OK(g.Close())
	if p := k.from(c, k.S, elems).Ptr(); p != free {
		k.Errorf("got %#x while the graph lives, want %#x", p, free)
	}
	if p := k.from(c, k.S, elems).Ptr(); p == inside[0] {
		k.Error("the graph's block was handed out while an exec lives")
	}
	k.Run(x)
	k.OK(x.Close())
	k.Eventually("the exec's end", func() bool { return c.Stats().OfGraphs == 0 })
	if p := k.from(c, k.S, elems).Ptr(); p != inside[0] {
		k.Errorf("the graph's block did not come back: got %#x, want %#x", p, inside[0])
	}
	if s := c.Stats(); s.OfGraphs != 0 {
		k.Errorf("%+v", s)
	}
}

func TestCacheBlockOfAClosedGraphStaysWithItsBuffer(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var out *driver.Buffer[uint32]
		g := k.Capture(func(sc *graph.Scope) error {
			out = k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(out, uint32(9))
			return errors.Join(err, sc.Do(set))
		})
		x := k.Exec(g)
		k.Run(x)
		k.OK(x.Close())
		k.OK(g.Close())
		k.Eventually("the exec's end", func() bool { return c.Stats().OfGraphs == 0 })
		at := out.Ptr()
		if k.from(c, k.S, elems).Ptr() == at {
			t.Error("the output's block was handed out")
		}
		k.Expect(out, 9)
		k.OK(c.Free(k.S, out))
		if k.from(c, k.S, elems).Ptr() != at {
			t.Error("the block did not come back")
		}
	})
}

// However a capture ends, its blocks must return to the cache, and the stream must allocate from
// the cache as before.
func TestCacheThawsOnEveryPath(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		use := func(sc *graph.Scope) {
			b := k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(b, uint32(1))
			k.OK(err)
			k.OK(sc.Do(set))
			k.OK(c.Free(sc.Stream(), b))
		}
		capture := func(end func(sc *graph.Scope) error) error {
			_, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
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
					_ = k.C.Driver().CuStreamSynchronize(sc.Stream().Raw())
					return nil
				})
			},
			"aborted": func() error {
				r, err := graph.Begin(k.S, graph.ModeGlobal)
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
			b := k.from(c, k.S, elems)
			k.OK(c.Free(k.S, b))
			k.Usable(k.S)
		}
	})
}

func TestCacheInACaptureOfOtherCode(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		d := k.C.Driver()
		runtime.LockOSThread() // the capture must end on the thread where it began
		defer runtime.UnlockOSThread()
		k.OK(d.CuStreamBeginCapture(k.S.Raw(), graph.ModeThreadLocal))
		b := k.from(c, k.S, elems)
		at := b.Ptr()
		set, err := driver.Fill(b, uint32(4))
		k.OK(err)
		k.OK(k.S.Do(set))
		k.OK(c.Free(k.S, b))
		var raw driver.CUgraph
		k.OK(d.CuStreamEndCapture(k.S.Raw(), &raw))
		if k.from(c, k.S, elems).Ptr() == at || c.Stats().OfGraphs != 512 {
			t.Errorf("the graph's block was handed out: %+v", c.Stats())
		}
		k.OK(d.CuGraphDestroy(raw))
		// A driver thread reports that the graph was destroyed.
		k.Eventually("the graph's blocks coming back", func() bool { return c.Stats().OfGraphs == 0 })
		if s := c.Stats(); s.Free != 512 {
			t.Errorf("the block is not free: %+v", s)
		}
	})
}

func TestCacheInAnInvalidCapture(t *testing.T) {
	each(t, func(k *kit) {
		c, d := k.cache(), k.C.Driver()
		k.OK(d.CuStreamBeginCapture(k.S.Raw(), graph.ModeThreadLocal))
		if d.CuStreamSynchronize(k.S.Raw()) == nil {
			k.Error("a wait for a stream that captures succeeded")
		}
		if _, err := cache.Alloc[uint32](c, k.S, elems); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Errorf("allocation in an invalid capture: %v", err)
		}
		var raw driver.CUgraph
		if d.CuStreamEndCapture(k.S.Raw(), &raw) == nil {
			k.Error("an invalid capture ended well")
		}
	})
}

// With WithAllocNodes, allocations in a capture must become nodes of the graph and leave the cache
// unchanged.
func TestCaptureFreezesTheCacheAndRecordsNodes(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		c, out := k.cache(cache.WithAllocNodes()), k.Memory()
		idle := k.from(c, k.S, elems)
		k.OK(c.Free(k.S, idle))
		var left *driver.Buffer[uint32]
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			tmp := k.from(c, sc.Stream(), elems)
			left = k.from(c, sc.Stream(), elems)
			for _, b := range []*driver.Buffer[uint32]{tmp, left} {
				set, err := driver.Fill(b, uint32(21))
				k.OK(err)
				k.OK(sc.Do(set))
			}
			sum, err := k.Sum.Prepare(graphtest.Config, out, tmp, left, uint32(elems))
			k.OK(err)
			return errors.Join(sc.Do(sum), c.Free(sc.Stream(), tmp))
		})
		k.OK(err)
		k.CloseLater(g)
		if s := c.Stats(); s.Free != 512 || s.OfGraphs != 0 || s.Allocated != 1 {
			t.Errorf("%+v", s)
		}
		x := k.Exec(g, graph.WithAutoFree())
		for range 3 {
			k.OK(out.Fill(0))
			k.Run(x)
			k.Expect(out, 42)
			k.Expect(left, 21)
		}
		if b := k.from(c, k.S, elems); b.Ptr() == left.Ptr() || c.Stats().Reused != 1 {
			t.Error("the cache did not thaw")
		}
		k.OK(c.Free(k.S, left))
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
	})
}

func TestCacheSizeZeroIsNoAllocation(t *testing.T) {
	each(t, func(k *kit) {
		for _, c := range []*cache.Cache{k.cache(), k.cache(cache.WithAllocNodes())} {
			b := k.from(c, k.S, 0)
			if b.Ptr() != 0 || b.Len() != 0 {
				t.Errorf("%v", b)
			}
			k.OK(c.Free(k.S, b))
			g := k.Capture(func(sc *graph.Scope) error {
				b := k.from(c, sc.Stream(), 0)
				return c.Free(sc.Stream(), b)
			})
			if n, err := g.Len(); err != nil || n != 0 {
				t.Errorf("%d nodes, %v", n, err)
			}
			if s := c.Stats(); s != (cache.Stats{}) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// After Close, buffers must stay valid, and closing them must return their memory to the driver.
func TestCacheFreesToTheDriverAfterItsEnd(t *testing.T) {
	each(t, func(k *kit) {
		c, err := cache.New(k.C)
		k.OK(err)
		b, idle := k.from(c, k.S, elems), k.from(c, k.S, elems)
		k.OK(c.Free(k.S, idle))
		g := k.Capture(func(sc *graph.Scope) error {
			tmp := k.from(c, sc.Stream(), elems)
			set, err := driver.Fill(tmp, uint32(1))
			k.OK(err)
			return errors.Join(sc.Do(set), c.Free(sc.Stream(), tmp))
		})
		x := k.Exec(g)
		k.OK(c.Close())
		k.OK(c.Close())
		if _, err := cache.Alloc[uint32](c, k.S, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed cache: %v", err)
		}
		k.OK(k.S.Do(k.Launch(k.Plus, b, 1)))
		k.Run(x)
		k.OK(c.Free(k.S, b))
		if _, err := c.Trim(); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed cache: %v", err)
		}
		k.OK(x.Close())
		k.OK(g.Close())
		k.Eventually("the exec's end", func() bool { return c.Stats().OfGraphs == 0 })
		if s := c.Stats(); s.InUse != 0 || s.Free != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCacheRefusesWhatIsNotItsOwn(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b, other := k.from(c, k.S, elems), k.Memory()
		k.ExpectReason("other memory", c.Free(k.S, other), driver.CUDA_ERROR_INVALID_VALUE, "not a buffer of it")
		k.OK(c.Free(k.S, b))
		k.OK((*cache.Cache)(nil).Close())
		if err := c.Free(k.S, b); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("second free: %v", err)
		}
		for what, err := range map[string]error{
			"nil buffer": c.Free(k.S, nil), "nil stream": c.Free(nil, other), "nil cache": (*cache.Cache)(nil).Free(k.S, other),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := cache.Alloc[uint32](nil, k.S, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil cache: %v", err)
		}
		if _, err := cache.Alloc[uint32](c, nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil stream: %v", err)
		}
		for what, err := range map[string]error{
			"negative": graphtest.Second(cache.Alloc[uint32](c, k.S, -1)), "too long": graphtest.Second(cache.Alloc[uint64](c, k.S, 1<<61)),
			"pointers": graphtest.Second(cache.Alloc[*int](c, k.S, 1)),
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
			s := k.Stream()
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
		k.Eventually("all memory coming back", func() bool { s := c.Stats(); return s.InUse == 0 && s.OfGraphs == 0 })
	})
}

// churn allocates memory, fills it with v and checks that nothing else wrote to it. If v is a
// multiple of 4, churn also allocates within a capture.
func (k *kit) churn(c *cache.Cache, s *driver.Stream, v int) error {
	b, err := cache.Alloc[uint32](c, s, elems)
	if err != nil {
		return err
	}
	set, err := driver.Fill(b, uint32(v))
	if err != nil {
		return errors.Join(err, b.Close())
	}
	got := make([]uint32, elems)
	if err := errors.Join(s.Do(set), s.Wait(context.Background()), b.CopyTo(got)); err != nil {
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

func (k *kit) churnCaptured(c *cache.Cache, s *driver.Stream) error {
	g, err := graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error {
		b, err := cache.Alloc[uint32](c, s, elems)
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
	return errors.Join(x.Run(context.Background(), s), x.Close(), g.Close())
}

// Streams that are forked into a capture share its blocks, each in its own stream order.
func TestCacheServesForkedStreams(t *testing.T) {
	each(t, func(k *kit) {
		c, other, out := k.cache(), k.Stream(), k.Memory()
		var here, there *driver.Buffer[uint32]
		g := k.Capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			here, there = k.from(c, k.S, elems), k.from(c, other, elems)
			k.OK(c.Free(other, there))
			if again := k.from(c, other, elems); again.Ptr() != there.Ptr() {
				t.Error("the fork did not get its block again")
			} else {
				there = again
			}
			for s, b := range map[*graph.Scope]*driver.Buffer[uint32]{sc: here, f: there} {
				set, err := driver.Fill(b, uint32(21))
				k.OK(err)
				k.OK(s.Do(set))
			}
			k.OK(sc.Join(f))
			sum, err := k.Sum.Prepare(graphtest.Config, out, here, there, uint32(elems))
			k.OK(err)
			return sc.Do(sum)
		})
		if here.Ptr() == there.Ptr() {
			t.Error("two streams got one block")
		}
		x := k.Exec(g)
		k.Run(x)
		k.Expect(out, 42)
		if s := c.Stats(); s.OfGraphs != 1024 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAClosedCacheReportsWhatWasNotFreed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	c, err := cache.New(k.C)
	k.OK(err)
	b, err := cache.Alloc[uint32](c, k.S, elems)
	k.OK(err)
	k.OK(c.Free(k.S, b))
	k.Wait(k.S)
	lib.FailCall(cu.FnCuMemFree.Symbol(), 1, uint32(driver.CUDA_ERROR_ECC_UNCORRECTABLE))
	err = c.Close()
	lib.Stop()
	if !errors.Is(err, driver.CUDA_ERROR_ECC_UNCORRECTABLE) {
		t.Errorf("got %v", err)
	}
}

// Copies of zero bytes must do nothing. Errors for copies that do not fit must name both sizes.
func TestCopiesOfTheCacheSayTheirSizes(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		b, none := k.from(c, k.S, 4), k.from(c, k.S, 0)
		k.OK(none.CopyFrom(nil))
		k.OK(none.CopyTo([]uint32{}))
		empty, err := driver.CopyDevice[uint32](none, none)
		k.OK(err)
		k.OK(k.S.Do(empty))
		k.ExpectReason("copy in", b.CopyFrom(make([]uint32, 3)), driver.CUDA_ERROR_INVALID_VALUE, "3 elements", "12 bytes", "16 bytes")
		k.ExpectReason("copy out", b.CopyTo(make([]uint32, 5)), driver.CUDA_ERROR_INVALID_VALUE, "5 elements", "20 bytes", "16 bytes")
		_, err = driver.CopyDevice[uint32](none, b)
		k.ExpectReason("copy within", err, driver.CUDA_ERROR_INVALID_VALUE, "0 bytes", "16 bytes")
		k.OK(b.CopyFrom([]uint32{1, 2, 3, 4}))
		got := make([]uint32, 2)
		k.OK(b.View(1, 3).CopyTo(got))
		if got[0] != 2 || got[1] != 3 {
			t.Errorf("got %v", got)
		}
	})
}
