package cache_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) into(c *cache.Cache, s *driver.Stream, b *driver.Buffer[uint32], n int) {
	k.Helper()
	k.OK(cache.AllocInto(c, s, b, n))
	if b.Len() != n || b.All().Err() != nil {
		k.Errorf("allocated %v, %v", b, b.All().Err())
	}
}

// A reused buffer must get the same memory again, even if it alternates with another buffer and
// each is freed every time.
func TestKeptBufferHasItsMemoryAgain(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var x, y driver.Buffer[uint32]
		k.into(c, k.S, &x, elems)
		k.into(c, k.S, &y, elems)
		atX, atY := x.Ptr(), y.Ptr()
		for i := range uint32(10) {
			k.OK(x.Close())
			k.OK(c.Free(k.S, &y))
			k.into(c, k.S, &x, elems)
			k.into(c, k.S, &y, elems)
			if x.Ptr() != atX || y.Ptr() != atY {
				k.Fatalf("buffers at %#x and %#x are at %#x and %#x now", atX, atY, x.Ptr(), y.Ptr())
			}
			fill, err := driver.Fill(&x, i)
			k.OK(err)
			k.OK(k.S.Do(fill))
			k.Expect(&x, i)
		}
		if s := c.Stats(); s.Allocated != 2 || s.Reused != 20 || s.Free != 0 || s.InUse != 2*512 {
			k.Errorf("%+v", s)
		}
		if err := cache.AllocInto(c, k.S, &x, elems); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("an open buffer was allocated into: %v", err)
		}
		k.OK(x.Close())
		k.OK(y.Close())
		if s := c.Stats(); s.Free != 2*512 || s.InUse != 0 {
			k.Errorf("%+v", s)
		}
	})
}

// A reused buffer must not get memory that another buffer has now. Old views and launches of the
// reused buffer must not become valid for that memory.
func TestKeptBufferTakesNothingFromOthers(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var b driver.Buffer[uint32]
		k.into(c, k.S, &b, elems)
		was, at := b.All(), b.Ptr()
		launch := k.Launch(k.Plus, &b, 1)
		k.OK(b.Close())
		other := k.from(c, k.S, elems)
		if other.Ptr() != at {
			k.Fatal("the block did not go round")
		}
		k.into(c, k.S, &b, elems)
		if b.Ptr() == at {
			k.Error("two buffers have one block")
		}
		if err := was.Err(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a view of memory that is another's: %v", err)
		}
		if err := k.S.Do(launch); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a launch on memory that is another's: %v", err)
		}
		k.OK(b.Close())
		if err := other.All().Err(); err != nil {
			k.Errorf("closing a kept buffer closed another: %v", err)
		}
		if s := c.Stats(); s.InUse != 512 || s.Free != 512 {
			k.Errorf("%+v", s)
		}
		k.Wait(k.S)
	})
}

// A reused buffer must get different memory if its size or stream changes, in a capture, and after
// a trim.
func TestKeptBufferGetsOtherMemoryWhereItHasTo(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		var b driver.Buffer[uint32]
		other := k.Stream()
		k.into(c, k.S, &b, elems)
		at := b.Ptr()
		k.OK(b.Close())
		k.into(c, other, &b, elems)
		if b.Ptr() == at {
			k.Error("another stream got the block of this one")
		}
		k.OK(b.Close())
		k.into(c, k.S, &b, elems-1)
		if b.Ptr() != at {
			k.Error("the block of the size did not come back")
		}
		k.OK(b.Close())
		_, err := c.Trim()
		k.OK(err)
		k.into(c, k.S, &b, elems-1)
		k.OK(b.Close())
		k.Capture(func(sc *graph.Scope) error {
			k.into(c, sc.Stream(), &b, elems-1)
			k.OK(sc.Do(k.Launch(k.Plus, &b, 1)))
			return b.Close()
		})
		k.into(c, k.S, &b, elems-1) // the graph owns the buffer's previous block
		k.OK(b.Close())
		if s := c.Stats(); s.Allocated != 4 || s.InUse != 0 {
			k.Errorf("%+v", s)
		}
		var zero driver.Buffer[uint32]
		k.into(c, k.S, &zero, 0)
		k.OK(zero.Close())
		k.into(c, k.S, &zero, elems-1)
		k.OK(zero.Close())
		if err := cache.AllocInto[uint32](c, k.S, nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("into nil: %v", err)
		}
		if err := cache.AllocInto[uint32](nil, k.S, &zero, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("from nil: %v", err)
		}
		k.OK(c.Close())
		if err := cache.AllocInto(c, k.S, &b, elems-1); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("from a closed cache: %v", err)
		}
	})
}

// A block freed within a capture belongs to the graph, even if nothing in the graph refers to its
// buffer.
func TestKeptBufferLeavesTheBlocksOfGraphs(t *testing.T) {
	each(t, func(k *kit) {
		c, other := k.cache(), k.Memory()
		var b driver.Buffer[uint32]
		var at driver.CUdeviceptr
		g := k.Capture(func(sc *graph.Scope) error {
			k.into(c, sc.Stream(), &b, elems)
			at = b.Ptr()
			k.OK(sc.Do(k.Launch(k.Plus, other, 1)))
			return b.Close()
		})
		k.into(c, k.S, &b, elems)
		if b.Ptr() == at {
			k.Error("a stream got the block of a graph")
		}
		k.OK(b.Close())
		k.OK(g.Close())
		if s := c.Stats(); s.InUse != 0 || s.Free != 2*512 || s.OfGraphs != 0 {
			k.Errorf("%+v", s)
		}
	})
}

// A reused buffer that becomes unreachable while open must return its memory to the cache.
func TestDroppedKeptBufferComesBack(t *testing.T) {
	each(t, func(k *kit) {
		c := k.cache()
		k.dropKept(c)
		gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
		if s := c.Stats(); s.Free != 512 || s.InUse != 0 {
			k.Errorf("%+v", s)
		}
	})
}

//go:noinline
func (k *kit) dropKept(c *cache.Cache) {
	b := new(driver.Buffer[uint32])
	k.into(c, k.S, b, elems)
	k.OK(b.Close())
	k.into(c, k.S, b, elems)
}

func TestCacheHitsAllocateAtMostTwoObjects(t *testing.T) {
	each(t, func(k *kit) {
		defer driver.SetLeakHook(driver.SetLeakHook(nil)) // with a leak hook, the library would record a stack for each allocation
		c := k.cache()
		var kept driver.Buffer[uint32]
		k.into(c, k.S, &kept, elems)
		k.OK(kept.Close())
		for _, free := range []func(*driver.Buffer[uint32]) error{
			(*driver.Buffer[uint32]).Close,
			func(b *driver.Buffer[uint32]) error { return c.Free(k.S, b) },
		} {
			k.None("allocation into a kept buffer", func() {
				k.OK(cache.AllocInto(c, k.S, &kept, elems))
				k.OK(free(&kept))
			})
			k.Most(2, "a hit", func() {
				b, err := cache.Alloc[uint32](c, k.S, elems)
				k.OK(err)
				k.OK(free(b))
			})
		}
	})
}
