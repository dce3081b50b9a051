package cache

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
)

// AllocInto is like Alloc, but allocates into a buffer that the caller reuses. Pass the zero Buffer
// first, and later a buffer that was closed or freed. If the size and the stream are the same as in
// the buffer's previous allocation, the buffer usually gets the same memory again, without an
// allocation on Go's heap. Otherwise, or if a graph still refers to the buffer, it gets different
// memory.
//
// If the buffer is open, AllocInto returns an error. Earlier views and prepared launches refer to
// the memory that the buffer had then. While the buffer has different memory, they return an error
// that the memory is closed.
//
// b must not be used concurrently.
func AllocInto[T any](c *Cache, s *driver.Stream, b *driver.Buffer[T], n int) error {
	if !c.exists() {
		return aCache.Error(c == nil)
	}
	err := allocInto(c, s, b, n)
	runtime.KeepAlive(c)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot allocate %d × %T from the cache: %w", n, *new(T), err)
	}
	return nil
}

func allocInto[T any](c *Cache, s *driver.Stream, b *driver.Buffer[T], n int) error {
	if b == nil {
		return refusal.Invalid("the buffer to allocate into is nil; it can be a zero Buffer")
	}
	kept, ok := b.Ref().(life.Reopener)
	if !ok {
		return allocAnew(c, s, b, n)
	}
	of := kept.Lifetime()
	if !of.Closed() {
		return refusal.Invalid("the buffer to allocate into is open: %v", b)
	}
	h, ok := of.End().(*handout)
	bytes, err := elem.Bytes[T](n)
	if err != nil || !ok || h.b.c != c.core || bytes != b.Bytes() || !of.Ended() {
		return allocAnew(c, s, b, n)
	}
	capture, err := c.core.accepts(s)
	if err != nil {
		return err
	}
	if capture.graph != 0 || !c.core.again(h, s) {
		return allocAnew(c, s, b, n)
	}
	if err := kept.Reopen(c.life); err != nil {
		return refusal.Join([]error{err, h.Destroy(nil)})
	}
	return nil
}

func allocAnew[T any](c *Cache, s *driver.Stream, b *driver.Buffer[T], n int) error {
	made, err := allocFrom[T](c, s, n)
	if err != nil {
		return err
	}
	*b = *made
	return nil
}

// again hands out the previous block of a buffer, if it is free in stream order on s.
func (c *core) again(h *handout, s *driver.Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := h.b
	if b.out || b.of != nil || !b.shelved || b.lane != laneOf(s) {
		return false
	}
	c.free.remove(b)
	c.stats.Reused++
	c.stats.Free -= uint64(b.size)
	c.handOut(b)
	h.generation = b.generation
	return true
}
