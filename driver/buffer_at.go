package driver

import "fmt"

// BytesOf returns the size of n elements of type T in bytes, or an error if they cannot be in
// device memory.
func BytesOf[T any](n int) (uintptr, error) { return bufferBytes[T](n) }

// BufferAt creates a Buffer of n elements in memory that an allocator owns, at ptr. When the buffer
// is closed or unreachable and has no references left, end is called instead of freeing the memory.
// life must have been created for this buffer, which takes it over. end must not refer to the
// buffer, but may contain life.
func BufferAt[T any](c *Context, life *Lifetime, ptr CUdeviceptr, n int, end Destroyer) (*Buffer[T], error) {
	if life == nil {
		return nil, fmt.Errorf("cannot make a buffer at %#x: %w", uint64(ptr), absentError(true, "lifetime"))
	}
	if c == nil || c.core == nil {
		return nil, life.Abandon(absentError(c == nil, "context"))
	}
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return nil, life.Abandon(err)
	}
	if ptr == 0 && bytes > 0 {
		return nil, life.Abandon(fmt.Errorf("buffer of %s at no address: %w", elemName[T](), CUDA_ERROR_INVALID_VALUE))
	}
	b := new(owned[T])
	b.a.life, b.a.ctx, b.a.ptr, b.a.bytes = life, c, ptr, bytes
	b.a.watch.Own(life, uint64(ptr), end)
	return b.set(), nil
}

// ReopenBuffer reopens a buffer from BufferAt whose lifetime has ended, for the same memory and the
// same size. With it, allocators can reuse a caller's buffer without allocating. Views and launches
// that still refer to the buffer work again, because the memory is the same.
func ReopenBuffer[T any](b *Buffer[T], parent *Lifetime) error {
	if b == nil || b.mem.a == nil {
		return absentError(b == nil, "buffer")
	}
	a := b.mem.a
	if err := a.life.BeginIn(parent); err != nil {
		return err
	}
	a.watch.stays = true
	a.watch.Own(a.life, a.life.handle, a.life.destroy)
	return nil
}

// End returns the Destroyer of the object, or nil. Allocators recognise their own memory by it.
func (l *Lifetime) End() Destroyer {
	if l == nil {
		return nil
	}
	return l.destroy
}

// Closed reports whether the object refuses calls.
func (l *Lifetime) Closed() bool {
	if l == nil {
		return true
	}
	return l.closed.Load()
}

// Ended reports whether the object is closed and has no references left.
func (l *Lifetime) Ended() bool {
	if l == nil {
		return true
	}
	return l.closed.Load() && l.refs.Load() <= 0
}
