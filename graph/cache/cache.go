// Package cache is an allocator of device memory for streams and CUDA graphs. It
// keeps what is given back for the next allocation of about that size, so that in the
// steady state the driver is not called, and memory that a capture got from it stays
// at its address until the graph is closed.
package cache

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
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
	core *core
}

// exists reports whether c is a cache of New's making.
func (c *Cache) exists() bool { return c != nil && c.core != nil }

// Option changes how New makes a cache.
type Option func(*core)

// WithAllocNodes has captures record allocation and free nodes (CUDA 11.4), with
// the rules of [graph.AddAlloc]: such memory costs nothing while the graph does not
// run, and graphs that leave memory allocated want [graph.WithAutoFree].
func WithAllocNodes() Option {
	return func(c *core) { c.nodes = true }
}

// New makes an empty cache of memory of the context's device.
func New(c *driver.Context, opts ...Option) (*Cache, error) {
	life, err := driver.NewLifetime(c, "memory cache")
	if err != nil {
		return nil, err
	}
	core := newCore(c, life)
	absent.Apply(opts, core)
	cache := &Cache{life: life, core: core}
	driver.Own(cache, life, 0, func(*driver.Driver) error { return core.shutdown() })
	return cache, nil
}

// Alloc allocates n elements in the order of s, as the Cache says. Close
// gives the memory back in that order, as Free does in another one. No elements
// are no allocation.
//
// The driver is asked for memory by guarded calls, so that no capture is
// disturbed. When there is none, what the cache has free is given up for it.
func Alloc[T any](c *Cache, s *driver.Stream, n int) (*driver.Buffer[T], error) {
	if !c.exists() {
		return nil, aCache.Error(c == nil)
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
	if bytes == 0 {
		life, err := c.life.Child(cachedBuffer)
		if err != nil {
			return nil, err
		}
		return driver.BufferAt[T](c.core.ctx, life, 0, n, nil)
	}
	h, err := c.handOut(s, capture, bytes)
	if err != nil {
		return nil, err
	}
	return driver.BufferAt[T](c.core.ctx, &h.life, h.b.ptr, n, h)
}

// cachedBuffer is the kind of object that a buffer of a cache is.
const cachedBuffer = "cached buffer"

// handOut takes a block for a buffer.
func (c *Cache) handOut(s *driver.Stream, capture captured, bytes uintptr) (*handout, error) {
	h := new(handout)
	h.life.SetKind(cachedBuffer)
	if err := h.life.BeginIn(c.life); err != nil {
		return nil, err
	}
	var err error
	if h.b, h.generation, err = c.core.take(s, capture, bytes); err != nil {
		return nil, h.life.Abandon(err)
	}
	return h, nil
}

// allocNode records an allocation. Captures that this package did not begin do
// not tell their graph of it.
func allocNode[T any](s *driver.Stream, n int) (*driver.Buffer[T], error) {
	sc, ok := graph.ScopeOf(s)
	if !ok {
		return driver.AllocAsync[T](s, n)
	}
	op, err := driver.NewAlloc[T](s.Context(), nil, n)
	if err != nil {
		return nil, err
	}
	return graph.Allocate(sc, op)
}

// Free closes a buffer of the cache and gives its memory back in the order of
// s: the next allocation on s may get it. What graphs refer to comes back when
// they let go of it.
func (c *Cache) Free(s *driver.Stream, m driver.Memory) error {
	if !c.exists() {
		return aCache.Error(c == nil)
	}
	if m == nil || m.Ref() == nil {
		return aBuffer.Error(m == nil)
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
		return closeMemory(m)
	}
	if g, ok := driver.GraphMemoryOf(m); ok {
		return freeNode(s, capture, g, m)
	}
	h, ok := life.End().(*handout)
	if !ok || h.b.c != c.core || h.b.ptr != m.Ptr() {
		return refusal.Invalid("device memory %#x is not a buffer of it", uint64(m.Ptr()))
	}
	if h.b.back(s, capture) {
		return refusal.Join([]error{h.b.giveBack(h.generation), closeMemory(m)})
	}
	return closeMemory(m)
}

// closeMemory is Buffer.Close for a buffer or a view of it.
func closeMemory(m driver.Memory) error {
	if b, ok := m.Ref().(io.Closer); ok {
		return b.Close()
	}
	return m.Ref().Lifetime().Close()
}

// freeNode records a free, or frees what a launch left.
func freeNode(s *driver.Stream, capture captured, g driver.GraphMemory, m driver.Memory) error {
	if capture.graph == 0 {
		if g.IsAllocated() {
			if err := s.FreeGraphMemory(m); err != nil {
				return err
			}
		}
		return closeMemory(m)
	}
	sc, ok := graph.ScopeOf(s)
	if !ok {
		return refusal.Join([]error{s.FreeGraphMemory(m), closeMemory(m)})
	}
	op, err := driver.NewFree(m)
	if err != nil {
		return err
	}
	if err := sc.Free(op); err != nil {
		return err
	}
	return closeMemory(m)
}

// Trim gives the free blocks back to the driver, which waits for work that
// still uses them, and returns how many bytes that were.
func (c *Cache) Trim() (uint64, error) {
	if !c.exists() {
		return 0, aCache.Error(c == nil)
	}
	if err := c.life.Check(); err != nil {
		return 0, err
	}
	return c.core.trim()
}

// Stats returns what the cache holds and did.
func (c *Cache) Stats() Stats {
	if !c.exists() {
		return Stats{}
	}
	return c.core.statistics()
}

// Context returns the context that the cache was made with.
func (c *Cache) Context() *driver.Context {
	if !c.exists() {
		return nil
	}
	return c.core.ctx
}

// Close gives the free blocks back to the driver and refuses allocations.
// Buffers that are in use stay good, and are freed by the driver when they are
// closed.
func (c *Cache) Close() error {
	if !c.exists() {
		return nil
	}
	err := errors.Join(c.core.shutdown(), c.life.Close())
	runtime.KeepAlive(c)
	return err
}
