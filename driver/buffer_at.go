package driver

import "fmt"

// BytesOf returns how many bytes n elements of type T take, or why they cannot
// be in device memory.
func BytesOf[T any](n int) (uintptr, error) { return bufferBytes[T](n) }

// BufferAt makes a Buffer of n elements at an address where there is memory of
// somebody else, an allocator: end is called instead of freeing it, when the
// buffer is closed or dropped and nothing refers to it any more. life was made
// for the buffer and belongs to it from then on. What end refers to must not
// refer to the buffer; life may be a part of end.
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

// ReopenBuffer opens a buffer of BufferAt again whose lifetime has ended, for the
// same memory and as many bytes: an allocator does so with a buffer that its user
// keeps, and allocates nothing. Views and launches that refer to the buffer still
// are open again with it, which is right because the memory is the same.
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

// End returns what destroys the object, nil for nothing: allocators know their
// own memory by it.
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

// Ended reports whether the object is closed and nothing refers to it any more.
func (l *Lifetime) Ended() bool {
	if l == nil {
		return true
	}
	return l.closed.Load() && l.refs.Load() <= 0
}
