package parity_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/internal/gputest"
	shipped "github.com/purecuda/cuda/ptx/kernels"
)

func (k *kit) until(what string, done func() bool) {
	k.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("not in 10 s: %s", what)
		}
	}
}

func (k *kit) from(c *cache.Cache, n int) *driver.Buffer[uint32] {
	k.Helper()
	return made[*driver.Buffer[uint32]](k)(cache.Alloc[uint32](c, k.s, n))
}

// A capture must not use the cache's free blocks. The memory that it allocates must belong to its
// graph, as allocation nodes or as blocks at fixed addresses. However the capture ends, the cache's
// free blocks must be unchanged.
func TestNumrCaptureFreezesTheCache(t *testing.T) {
	t.Run("allocation nodes", func(t *testing.T) {
		each(t, func(k *kit) {
			c := made[*cache.Cache](k)(cache.New(k.c, cache.WithAllocNodes()))
			g, tmp := k.capturedWith(c)
			types := map[graph.Type]int{}
			for n, err := range g.Nodes() {
				k.ok(err)
				types[must[graph.Type](k)(n.Type())]++
			}
			if types[cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC] != 1 {
				k.Errorf("nodes: %v", types)
			}
			x := k.exec(g, graph.WithAutoFree())
			for range 3 { // each launch frees the memory that the previous one left
				k.run(x)
			}
			k.expect(tmp, 21)
			k.ok(c.Free(k.s, tmp))
		})
	})
	t.Run("fixed blocks", func(t *testing.T) {
		each(t, func(k *kit) {
			c := made[*cache.Cache](k)(cache.New(k.c))
			g, tmp := k.capturedWith(c)
			at := tmp.Ptr()
			x := k.exec(g)
			for range 3 {
				k.run(x)
			}
			k.expect(tmp, 21)
			k.ok(c.Free(k.s, tmp))
			if k.from(c, elems); k.from(c, elems).Ptr() == at {
				k.Error("a block of the graph was handed out")
			}
		})
	})
	t.Run("thawed on every path", func(t *testing.T) {
		for name, end := range map[string]func(k *kit) error{
			"error":       func(*kit) error { return errOwn },
			"panic":       func(*kit) error { panic("boom") },
			"Goexit":      func(*kit) error { runtime.Goexit(); return nil },
			"invalidated": func(k *kit) error { k.invalidate(); return nil },
		} {
			t.Run(name, func(t *testing.T) {
				each(t, func(k *kit) {
					c := made[*cache.Cache](k)(cache.New(k.c))
					onAGoroutine(func() {
						defer func() { _ = recover() }()
						_, _ = graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
							if b, err := cache.Alloc[uint32](c, sc.Stream(), elems); err != nil {
								k.Error(err)
							} else if err := c.Free(sc.Stream(), b); err != nil {
								k.Error(err)
							}
							return end(k)
						})
					})
					if s := c.Stats(); s.OfGraphs != 0 || s.InUse != 0 {
						k.Errorf("%+v", s)
					}
					k.from(c, elems)
					if s := c.Stats(); s.Reused == 0 {
						k.Errorf("the block is not used again: %+v", s)
					}
				})
			})
		}
	})
	t.Run("nothing recorded", func(t *testing.T) {
		each(t, func(k *kit) { // a graph without nodes must be recognised
			if g := k.capture(); k.length(g) != 0 {
				k.Error("nodes out of nothing")
			}
		})
	})
}

// capturedWith captures an allocation and a fill with 21, while the cache has a free block of that
// size. It checks that the block stays free.
func (k *kit) capturedWith(c *cache.Cache) (g *graph.Graph, tmp *driver.Buffer[uint32]) {
	k.Helper()
	idle := k.from(c, elems)
	at := idle.Ptr()
	k.ok(c.Free(k.s, idle))
	g = made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
		tmp = k.from(c, elems)
		if tmp.Ptr() == at {
			k.Error("the capture got a block of the cache")
		}
		return sc.Do(k.fill(tmp, 21))
	}))
	again := k.from(c, elems)
	if again.Ptr() != at {
		k.Errorf("got %#x after the capture, %#x is free", again.Ptr(), at)
	}
	k.ok(c.Free(k.s, again))
	return g, tmp
}

func TestNumrAllocator(t *testing.T) {
	t.Run("blocks go round", func(t *testing.T) {
		each(t, func(k *kit) {
			c := made[*cache.Cache](k)(cache.New(k.c))
			a := k.from(c, elems)
			at := a.Ptr()
			k.ok(k.s.Do(k.fill(a, 1)))
			k.ok(c.Free(k.s, a))
			if b := k.from(c, elems); b.Ptr() != at || c.Stats().Allocated != 1 {
				k.Errorf("got %v at %#x, want the block at %#x", b, b.Ptr(), at)
			}
		})
	})
	t.Run("size 0", func(t *testing.T) {
		each(t, func(k *kit) {
			c := made[*cache.Cache](k)(cache.New(k.c))
			b := k.from(c, 0)
			k.ok(c.Free(k.s, b))
			if s := c.Stats(); b.Ptr() != 0 || s != (cache.Stats{}) {
				k.Errorf("%v at %#x, %+v", b, b.Ptr(), s)
			}
		})
	})
	t.Run("after shutdown", func(t *testing.T) {
		each(t, func(k *kit) {
			c := must[*cache.Cache](k)(cache.New(k.c))
			b := must[*driver.Buffer[uint32]](k)(cache.Alloc[uint32](c, k.s, elems))
			k.ok(c.Close())
			k.want("allocation", second(cache.Alloc[uint32](c, k.s, 1)), driver.ErrClosed)
			k.ok(k.s.Do(k.fill(b, 3)))
			k.expect(b, 3) // b is still valid
			k.ok(c.Free(k.s, b))
			if s := c.Stats(); s.InUse != 0 || s.Free != 0 {
				k.Errorf("not the driver's: %+v", s)
			}
		})
	})
	t.Run("after the context was closed", func(t *testing.T) {
		each(t, func(k *kit) { // the context ends when the last object created in it is closed
			ctx := must[*driver.Context](k)(k.c.Device().PrimaryContext())
			s := must[*driver.Stream](k)(ctx.NewStream())
			c := must[*cache.Cache](k)(cache.New(ctx))
			b := must[*driver.Buffer[uint32]](k)(cache.Alloc[uint32](c, s, elems))
			k.ok(ctx.Close())
			k.ok(errors.Join(c.Close(), b.Close(), s.Close()))
			k.want("a new object", second(ctx.NewStream()), driver.ErrClosed)
		})
	})
}

func TestNumrCopies(t *testing.T) {
	each(t, func(k *kit) {
		a, b, up, down := k.memory(0), k.memory(0), k.host(), k.host()
		src, dst := make([]uint32, elems), make([]uint32, elems)
		for i := range src {
			src[i], up.Slice()[i] = uint32(i), uint32(2*i)
		}
		k.ok(a.CopyFrom(src)) // these calls wait
		k.ok(b.All().CopyFrom(src))
		k.ok(b.CopyTo(dst))
		if !slices.Equal(dst, src) {
			k.Errorf("%v", dst)
		}
		for _, op := range []*driver.CopyOp{ // these operations are for streams and graphs
			must[*driver.CopyOp](k)(driver.Upload[uint32](a, up)),
			k.copy(b, a),
			must[*driver.CopyOp](k)(driver.Download[uint32](down, b)),
		} {
			k.ok(k.s.Do(op))
		}
		k.wait(k.s)
		if !slices.Equal(down.Slice(), up.Slice()) {
			k.Errorf("%v", down.Slice())
		}
	})
	t.Run("of nothing", func(t *testing.T) {
		each(t, func(k *kit) {
			a := k.memory(1)
			none := a.View(3, 3)
			k.ok(none.CopyFrom(nil))
			k.ok(none.CopyTo(nil))
			k.ok(k.s.Do(k.copy(none, a.View(0, 0))))
			empty := made[*driver.Buffer[uint32]](k)(driver.Alloc[uint32](k.c, 0))
			k.ok(empty.CopyFrom(nil))
			k.expect(a, 1)
		})
	})
	t.Run("of different sizes", func(t *testing.T) {
		each(t, func(k *kit) {
			a := k.memory(1)
			k.want("from the host", a.CopyFrom(make([]uint32, 5)), driver.CUDA_ERROR_INVALID_VALUE, "5", "32")
			k.want("to the host", a.CopyTo(make([]uint32, 33)), driver.CUDA_ERROR_INVALID_VALUE, "33", "32")
			k.want("within the device", second(driver.CopyDevice[uint32](a.View(0, 7), a.View(8, 17))),
				driver.CUDA_ERROR_INVALID_VALUE, "7", "9")
		})
	})
}

// The host must wait only for a copy on its own stream, which waits for an event of the compute
// stream. The compute stream must continue.
func TestNumrCopyBesideCompute(t *testing.T) {
	each(t, func(k *kit) {
		for _, helper := range []bool{false, true} {
			k.copyBeside(helper)
		}
	})
}

// copyBeside copies in one stream while work runs in another. It orders the streams with an explicit
// event or, if helper is set, with After, which creates an event itself.
func (k *kit) copyBeside(helper bool) {
	k.Helper()
	a, b, host, ready, side := k.memory(1), k.memory(1), k.host(), k.event(), k.stream()
	first, then := k.launch(k.plus, a, 41), k.launch(k.plus, b, 1)
	download := must[*driver.CopyOp](k)(driver.Download[uint32](host, a))
	k.ok(side.Do(download)) // the first copy may wait for the device
	k.wait(side)
	k.ok(k.s.Do(first))
	if helper {
		k.ok(side.After(k.s))
	} else {
		k.ok(k.s.Record(ready))
		k.ok(side.WaitEvent(ready))
	}
	release := k.blocked(k.s) // compute work that continues during the copy
	k.ok(k.s.Do(then))
	k.ok(side.Do(download))
	k.wait(side)
	if host.Slice()[0] != 42 {
		k.Errorf("copied %d", host.Slice()[0])
	}
	if done, err := k.s.Query(); done || err != nil {
		k.Errorf("the compute stream was waited for: %v, %v", done, err)
	}
	release()
	k.expect(b, 2)
}

// rowsAndStrides is passed to the kernel by value. Later changes on the host must not affect a
// replay, because the node has its own copy.
type rowsAndStrides struct{ columns, row, column uint32 }

func TestNumrStridedCopy(t *testing.T) {
	each(t, func(k *kit) {
		src, dst := k.memory(0), k.memory(0)
		square := make([]uint32, 16)
		for i := range square {
			square[i] = uint32(i)
		}
		k.ok(src.View(0, 16).CopyFrom(square))
		shape := rowsAndStrides{columns: 4, row: 1, column: 4} // the transposed shape
		l := must[*driver.Launch](k)(k.strided.Prepare(config, dst, src, uint32(16), shape))
		g := k.graph()
		n := k.add(g, l)
		x := k.exec(g)
		shape = rowsAndStrides{columns: 4, row: 4, column: 1} // changes only the host's copy
		k.ok(driver.SetArg(l, 3, shape))
		for range 2 {
			k.run(x)
			k.strides(dst, func(i int) int { return i%4*4 + i/4 })
		}
		k.ok(x.Set(n, l))
		k.run(x)
		k.strides(dst, func(i int) int { return i })
	})
}

// This library's strided copy kernel must copy elements of any type.
func TestNumrStridedCopyKernel(t *testing.T) {
	each(t, func(k *kit) {
		src, dst := k.memory(0), k.memory(0)
		square := make([]uint32, 16)
		for i := range square {
			square[i] = uint32(i)
		}
		k.ok(src.View(0, 16).CopyFrom(square))
		rows := shipped.RowMajor(4, 4)
		l := must[*driver.Launch](k)(shipped.StridedCopy(dst, rows, src, rows.Permute(1, 0), []int{4, 4}))
		g := k.graph()
		n := k.add(g, l)
		x := k.exec(g)
		rows.Strides[0], rows.Strides[1] = 1, 4 // changes only the host's copy
		k.ok(driver.SetArg(l, 2, must[shipped.Strided](k)(shipped.NewStrided(dst, rows, src, rows, 4, 4))))
		for range 2 {
			k.run(x)
			k.strides(dst, func(i int) int { return i%4*4 + i/4 })
		}
		k.ok(x.Set(n, l))
		k.run(x)
		k.strides(dst, func(i int) int { return i })
	})
}

func (k *kit) strides(b *driver.Buffer[uint32], from func(i int) int) {
	k.Helper()
	got := make([]uint32, 16)
	k.ok(b.View(0, 16).CopyTo(got))
	for i, v := range got {
		if int(v) != from(i) {
			k.Fatalf("element %d is %d, want %d", i, v, from(i))
		}
	}
}

// givesContext reports whether the system's driver can create a context.
func givesContext(t *testing.T) bool {
	d, err := driver.Open()
	if err != nil {
		return false
	}
	for dev, err := range d.Devices() {
		if err != nil {
			return false
		}
		if c, err := dev.PrimaryContext(); err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return true
		}
	}
	return false
}

func TestNumrDevices(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		n, err := d.DeviceCount()
		if err != nil || n == 0 {
			t.Fatalf("%d devices, %v", n, err)
		}
		for i := range n {
			dev, err := d.Device(i)
			if err != nil || dev.Ordinal() != i {
				t.Errorf("device %d is %v, %v", i, dev, err)
			}
		}
		for _, wrong := range []int{-1, n} {
			if _, err := d.Device(wrong); !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
				t.Errorf("device %d: %v", wrong, err)
			}
		}
	})
	err := driver.Available() // returns the reason instead of crashing
	if err == nil && !givesContext(t) {
		t.Error("available, and no device gives a context")
	}
	if err != nil && err.Error() == "" {
		t.Error("no reason given")
	}
}
