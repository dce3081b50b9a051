package graph

import (
	"errors"
	"fmt"
	"runtime"
	"weak"

	"github.com/purecuda/cuda/driver"
)

// Cache is an allocator of device memory that keeps what is given back for the
// next allocation of about that size, so that in the steady state the driver is
// not called.
//
// Memory is allocated and freed in the order of a stream: a block that is given
// back goes to the next allocation on the same stream, at once, because work
// sent to that one afterwards runs behind the work that used it. Whoever uses
// memory on other streams has them ordered before giving it back.
//
// While a stream is captured, its allocations are for the graph: it gets blocks
// of its own at fixed addresses. They are used again within the capture when
// [Cache.Free] gives them back there, and by nobody else. They come back to the
// cache when the graph and its Execs are closed and their launches have ended, or
// when the capture fails, however it does; then the next capture may get them. A
// block that came back in the order of a stream no capture gets, because that
// stream may still use it when the graph runs. WithAllocNodes has the graph allocate and
// free by nodes instead.
//
// Any goroutine may use a Cache at any time.
type Cache struct {
	life *driver.Lifetime
	core *cacheCore
}

// CacheOption changes how NewCache makes a cache.
type CacheOption func(*cacheCore)

// WithAllocNodes has captures record allocation and free nodes (CUDA 11.4), with
// the rules of [AddAlloc]: such memory costs nothing while the graph does not
// run, and graphs that leave memory allocated want [WithAutoFree].
func WithAllocNodes() CacheOption {
	return func(c *cacheCore) { c.nodes = true }
}

// NewCache makes an empty cache of memory of the context's device.
func NewCache(c *driver.Context, opts ...CacheOption) (*Cache, error) {
	life, err := driver.NewLifetime(c, "memory cache")
	if err != nil {
		return nil, err
	}
	core := newCacheCore(c, life)
	for _, o := range opts {
		o(core)
	}
	cache := &Cache{life: life, core: core}
	driver.Own(cache, life, 0, func(*driver.Driver) error { return core.shutdown() })
	return cache, nil
}

// AllocFrom allocates n elements in the order of s, as the Cache says. Close
// gives the memory back in that order, as Free does in another one. No elements
// are no allocation.
//
// The driver is asked for memory by guarded calls, so that no capture is
// disturbed. When there is none, what the cache has free is given up for it.
func AllocFrom[T any](c *Cache, s *driver.Stream, n int) (*driver.Buffer[T], error) {
	if c == nil {
		return nil, fmt.Errorf("nil cache: %w", driver.ErrClosed)
	}
	b, err := allocFrom[T](c, s, n)
	runtime.KeepAlive(c)
	runtime.KeepAlive(s)
	if err != nil {
		return nil, fmt.Errorf("cannot allocate %d × %T from the cache: %w", n, *new(T), err)
	}
	return b, nil
}

func allocFrom[T any](c *Cache, s *driver.Stream, n int) (*driver.Buffer[T], error) {
	bytes, err := driver.BytesOf[T](n)
	if err != nil {
		return nil, err
	}
	capture, err := c.core.accepts(s)
	if err != nil {
		return nil, err
	}
	if bytes > 0 && capture.graph != 0 && c.core.nodes {
		return allocNode[T](s, n)
	}
	life, err := c.life.Child("cached buffer")
	if err != nil {
		return nil, err
	}
	if bytes == 0 {
		return driver.BufferAt[T](c.core.ctx, life, 0, n, nil)
	}
	b, generation, err := c.core.take(s, capture, bytes)
	if err != nil {
		return nil, life.Abandon(err)
	}
	return driver.BufferAt[T](c.core.ctx, life, b.ptr, n, func() error { return b.giveBack(generation) })
}

// allocNode records an allocation. Captures that this package did not begin do
// not tell their graph of it.
func allocNode[T any](s *driver.Stream, n int) (*driver.Buffer[T], error) {
	r := capturing.of(s)
	if r == nil {
		return driver.AllocAsync[T](s, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, ErrEnded
	}
	return allocateIn[T](r, s, nil, n)
}

// Free closes a buffer of the cache and gives its memory back in the order of
// s: the next allocation on s may get it. What graphs refer to comes back when
// they let go of it.
func (c *Cache) Free(s *driver.Stream, m driver.Memory) error {
	if c == nil {
		return fmt.Errorf("nil cache: %w", driver.ErrClosed)
	}
	if m == nil || m.Ref() == nil {
		return fmt.Errorf("nil buffer: %w", driver.ErrClosed)
	}
	err := c.free(s, m)
	runtime.KeepAlive(c)
	runtime.KeepAlive(m)
	if err != nil {
		return fmt.Errorf("cannot give memory back to the cache: %w", err)
	}
	return nil
}

func (c *Cache) free(s *driver.Stream, m driver.Memory) error {
	life := m.Ref().Lifetime()
	if err := life.Check(); err != nil {
		return err
	}
	capture, err := c.core.acceptsFree(s)
	if err != nil {
		return err
	}
	if m.Bytes() == 0 {
		return life.Close()
	}
	if g, ok := driver.GraphMemoryOf(m); ok {
		return freeNode(s, capture, g, m)
	}
	b, generation := c.core.find(m.Ptr())
	if b == nil {
		return invalid("device memory %#x is not a buffer of it", uint64(m.Ptr()))
	}
	if b.back(s, capture) {
		return join([]error{b.giveBack(generation), life.Close()})
	}
	return life.Close()
}

// freeNode records a free, or frees what a launch left.
func freeNode(s *driver.Stream, capture captured, g driver.GraphMemory, m driver.Memory) error {
	if capture.graph == 0 {
		if g.IsAllocated() {
			if err := s.FreeGraphMemory(m); err != nil {
				return err
			}
		}
		return m.Ref().Lifetime().Close()
	}
	r := capturing.of(s)
	if r == nil {
		return join([]error{s.FreeGraphMemory(m), m.Ref().Lifetime().Close()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ErrEnded
	}
	if err := r.free(s, g, g, []driver.Ref{m.Ref()}); err != nil {
		return err
	}
	return m.Ref().Lifetime().Close()
}

// Trim gives the free blocks back to the driver, which waits for work that
// still uses them, and returns how many bytes that were.
func (c *Cache) Trim() (uint64, error) {
	if c == nil {
		return 0, fmt.Errorf("nil cache: %w", driver.ErrClosed)
	}
	if err := c.life.Check(); err != nil {
		return 0, err
	}
	return c.core.trim()
}

// Stats returns what the cache holds and did.
func (c *Cache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	return c.core.statistics()
}

// Context returns the context that the cache was made with.
func (c *Cache) Context() *driver.Context {
	if c == nil {
		return nil
	}
	return c.core.ctx
}

// Close gives the free blocks back to the driver and refuses allocations.
// Buffers that are in use stay good, and are freed by the driver when they are
// closed.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	err := errors.Join(c.core.shutdown(), c.life.Close())
	runtime.KeepAlive(c)
	return err
}

// lane names the stream in whose order a block was given back. Handles of
// streams are given again, and a lane must not keep a stream reachable. The
// zero lane is no stream: nothing uses the block any more.
type lane = weak.Pointer[driver.Stream]
