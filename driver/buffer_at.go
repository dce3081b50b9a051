package driver

import "fmt"

// BytesOf returns how many bytes n elements of type T take, or why they cannot
// be in device memory.
func BytesOf[T any](n int) (uintptr, error) {
	_, bytes, err := newBuffer[T](n)
	return bytes, err
}

// BufferAt makes a Buffer of n elements at an address where there is memory of
// somebody else, an allocator: end is called instead of freeing it, when the
// buffer is closed or dropped and nothing refers to it any more. life was made
// for the buffer and is its from now on. What end refers to must not refer to
// the buffer.
func BufferAt[T any](c *Context, life *Lifetime, ptr CUdeviceptr, n int, end func() error) (*Buffer[T], error) {
	kind, bytes, err := newBuffer[T](n)
	if err != nil {
		return nil, life.Abandon(err)
	}
	if ptr == 0 && bytes > 0 {
		return nil, life.Abandon(fmt.Errorf("%s at no address: %w", kind, CUDA_ERROR_INVALID_VALUE))
	}
	a := &allocation{life: life, ctx: c, ptr: ptr, bytes: bytes}
	destroy := func(*Driver) error { return end() }
	if end == nil {
		destroy = nil
	}
	Own(a, life, uint64(ptr), destroy)
	return bufferOf[T](a), nil
}
