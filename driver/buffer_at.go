package driver

import (
	"fmt"

	"github.com/purecuda/cuda/internal/life"
)

// BytesOf returns the size of n elements of type T in bytes, or an error if they cannot be in
// device memory.
func BytesOf[T any](n int) (uintptr, error) { return bufferBytes[T](n) }

// BufferAt creates a Buffer of n elements in memory that an allocator owns, at ptr. When the buffer
// is closed or unreachable and has no references left, end is called instead of freeing the memory.
// life must have been created for this buffer, which takes it over. end must not refer to the
// buffer, but may contain life.
func BufferAt[T any](c *Context, l *life.Lifetime, ptr CUdeviceptr, n int, end life.Destroyer) (*Buffer[T], error) {
	if l == nil {
		return nil, fmt.Errorf("cannot make a buffer at %#x: %w", uint64(ptr), absentError(true, "lifetime"))
	}
	if c == nil || c.core == nil {
		return nil, l.Abandon(absentError(c == nil, "context"))
	}
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return nil, l.Abandon(err)
	}
	if ptr == 0 && bytes > 0 {
		return nil, l.Abandon(fmt.Errorf("buffer of %s at no address: %w", elemName[T](), CUDA_ERROR_INVALID_VALUE))
	}
	b := new(owned[T])
	b.a.life, b.a.ctx, b.a.ptr, b.a.bytes = l, c, ptr, bytes
	b.a.watch.Own(l, uint64(ptr), end)
	return b.set(), nil
}

// ReopenBuffer reopens a buffer from BufferAt whose lifetime has ended, for the same memory and the
// same size. With it, allocators can reuse a caller's buffer without allocating. Views and launches
// that still refer to the buffer work again, because the memory is the same.
func ReopenBuffer[T any](b *Buffer[T], parent *life.Lifetime) error {
	if b == nil || b.mem.a == nil {
		return absentError(b == nil, "buffer")
	}
	a := b.mem.a
	if err := a.life.BeginIn(parent); err != nil {
		return err
	}
	a.watch.Stay()
	a.watch.Own(a.life, a.life.Handle(), a.life.End())
	return nil
}
