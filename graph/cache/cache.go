// Package cache implements an allocator of device memory for streams and CUDA graphs. It keeps
// freed memory for the next allocation of about the same size, so in the steady state it does not
// call the driver. Memory allocated in a capture keeps its address until the graph is closed.
package cache

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
)

// Cache is an allocator of device memory that keeps freed memory for the next allocation of about
// the same size. In the steady state it does not call the driver.
//
// Memory is allocated and freed in stream order. The next allocation on the same stream can reuse a
// freed block immediately, because later work in that stream runs after earlier work. If other
// streams use the memory, order their work before the free.
//
// While a stream is being captured, its allocations belong to the graph, which gets its own blocks
// at fixed addresses. Blocks that the capture frees with [Cache.Free] can be reused only within the
// capture. They return to the cache when the graph and its Execs are closed and their launches have
// ended, or when the capture fails. Later captures may then use them. A capture never gets a block
// that was freed in stream order outside of captures, because that stream may still use the block
// when the graph runs. With WithAllocNodes, the graph instead allocates and frees with nodes.
//
// A Cache is safe for concurrent use.
type Cache struct {
	life *life.Lifetime
	core *core
}

func (c *Cache) exists() bool { return c != nil && c.core != nil }

// Option configures New.
type Option func(*core)

// WithAllocNodes makes captures record allocation and free nodes (CUDA 11.4), with the rules of
// [graph.AddAlloc]. Such memory is not reserved while the graph does not run. Graphs that leave
// memory allocated need [graph.WithAutoFree].
func WithAllocNodes() Option {
	return func(c *core) { c.nodes = true }
}

// New returns an empty cache for memory of the context's device.
func New(c *driver.Context, opts ...Option) (*Cache, error) {
	l, err := life.New(c.Lifetime(), "memory cache")
	if err != nil {
		return nil, err
	}
	core := newCore(c, l)
	absent.Apply(opts, core)
	cache := &Cache{life: l, core: core}
	life.Own(cache, l, 0, func(*cu.Driver) error { return core.shutdown() })
	return cache, nil
}

// Alloc allocates n elements, stream-ordered on s, as described for Cache. Closing the buffer frees
// the memory in stream order on s. To free it in stream order on another stream, use Free. If n is
// 0, Alloc allocates nothing.
//
// Alloc calls the driver in relaxed capture mode, so it does not disturb captures. If the device is
// out of memory, Alloc releases the cache's free blocks and tries again.
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
	bytes, err := elem.Bytes[T](n)
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
		l, err := c.life.Child(cachedBuffer)
		if err != nil {
			return nil, err
		}
		return driver.BufferAt[T](c.core.ctx, l, 0, n, nil)
	}
	h, err := c.handOut(s, capture, bytes)
	if err != nil {
		return nil, err
	}
	return driver.BufferAt[T](c.core.ctx, &h.life, h.b.ptr, n, h)
}

// cachedBuffer is the name of a cache's buffers in leak reports.
const cachedBuffer = "cached buffer"

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

// allocNode records an allocation. If code outside this module began the capture, there is no
// graph.Scope to record it with, so allocNode allocates with driver.AllocAsync.
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

// Free closes a buffer of the cache and frees its memory in stream order on s. The next allocation
// on s may use the memory. If graphs refer to the memory, it returns to the cache when they release
// it.
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
	l := m.Ref().Lifetime()
	if err := l.Check(); err != nil {
		return err
	}
	capture, err := c.core.acceptsFree(s)
	if err != nil {
		return err
	}
	if m.Bytes() == 0 {
		return closeMemory(m)
	}
	if g, ok := life.OpenGraphMemoryOf(m.Ref()); ok {
		return freeNode(s, capture, g, m)
	}
	h, ok := l.End().(*handout)
	if !ok || h.b.c != c.core || h.b.ptr != address(m) {
		return refusal.Invalid("memory %#x is not a buffer of it", uint64(address(m)))
	}
	if h.b.back(s, capture) {
		return refusal.Join([]error{h.b.giveBack(h.generation), closeMemory(m)})
	}
	return closeMemory(m)
}

// address returns the address of device memory, or 0 for other memory.
func address(m driver.Memory) driver.CUdeviceptr {
	if m, ok := m.(interface{ Ptr() driver.CUdeviceptr }); ok {
		return m.Ptr()
	}
	return 0
}

// closeMemory closes a buffer, or the buffer of a view.
func closeMemory(m driver.Memory) error {
	if b, ok := m.Ref().(io.Closer); ok {
		return b.Close()
	}
	return m.Ref().Lifetime().Close()
}

// freeNode records a free node. Outside a capture it instead frees memory that a launch left
// allocated, and closes the buffer.
func freeNode(s *driver.Stream, capture captured, g life.GraphMemory, m driver.Memory) error {
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

// Trim releases the free blocks to the driver, which waits for work that still uses them, and
// returns the number of bytes released.
func (c *Cache) Trim() (uint64, error) {
	if !c.exists() {
		return 0, aCache.Error(c == nil)
	}
	if err := c.life.Check(); err != nil {
		return 0, err
	}
	return c.core.trim()
}

// Stats returns the current contents of the cache and its counters.
func (c *Cache) Stats() Stats {
	if !c.exists() {
		return Stats{}
	}
	return c.core.statistics()
}

// Context returns the context that the cache was created with.
func (c *Cache) Context() *driver.Context {
	if !c.exists() {
		return nil
	}
	return c.core.ctx
}

// Close returns the free blocks to the driver and rejects further allocations. Buffers in use
// stay valid, and closing them returns their memory to the driver.
func (c *Cache) Close() error {
	if !c.exists() {
		return nil
	}
	err := errors.Join(c.core.shutdown(), c.life.Close())
	runtime.KeepAlive(c)
	return err
}
