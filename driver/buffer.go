package driver

import (
	"fmt"
	"runtime"
)

// Buffer is device memory for Len elements of type T, which must be free of Go
// pointers. Views of a buffer share its memory and keep it reachable, but
// closing the buffer closes them too.
type Buffer[T any] struct {
	mem span // first: see Launch.setFast
}

// Alloc allocates device memory for n elements, which are not initialised. No
// elements need no memory: such a buffer has the address 0. If there is too little
// memory the error matches CUDA_ERROR_OUT_OF_MEMORY and says how many bytes were
// asked for.
//
// This is cuMemAlloc, which waits for the device now and then and is refused
// inside a stream capture. AllocAsync is the one for steady state.
func Alloc[T any](c *Context, n int) (*Buffer[T], error) {
	kind, bytes, err := newBuffer[T](n)
	if err != nil {
		return nil, err
	}
	a, err := allocate(c, kind, bytes)
	if err != nil {
		return nil, err
	}
	return bufferOf[T](a), nil
}

// AllocFrom allocates a buffer as long as src and copies src into it.
func AllocFrom[T any](c *Context, src []T) (*Buffer[T], error) {
	b, err := Alloc[T](c, len(src))
	if err != nil {
		return nil, err
	}
	if err := b.CopyFrom(src); err != nil {
		return nil, joinClose(err, b)
	}
	return b, nil
}

// newBuffer is bufferBytes, and what kind of object it will be.
func newBuffer[T any](n int) (kind string, bytes uintptr, err error) {
	bytes, err = bufferBytes[T](n)
	return "buffer of " + elemName[T](), bytes, err
}

// bufferBytes checks what every constructor of a buffer takes.
func bufferBytes[T any](n int) (bytes uintptr, err error) {
	if err = checkElem[T](); err == nil {
		bytes, err = byteSize(n, sizeOf[T]())
	}
	if err != nil {
		return 0, fmt.Errorf("cannot make a buffer of %s: %w", elemName[T](), err)
	}
	return bytes, nil
}

func bufferOf[T any](a *allocation) *Buffer[T] {
	return &Buffer[T]{span{a, a.ptr, a.bytes}}
}

func allocate(c *Context, kind string, bytes uintptr) (*allocation, error) {
	if err := notInCallback(); err != nil {
		return nil, err
	}
	life, err := NewLifetime(c, kind)
	if err != nil {
		return nil, err
	}
	a := &allocation{life: life, ctx: c, bytes: bytes}
	if bytes == 0 {
		Own(a, life, 0, nil)
		return a, nil
	}
	if err := c.Driver().CuMemAlloc(&a.ptr, bytes); err != nil {
		return nil, life.Abandon(fmt.Errorf("%d bytes: %w", bytes, err))
	}
	ptr := a.ptr
	Own(a, life, uint64(ptr), func(d *Driver) error { return d.CuMemFree(ptr) })
	return a, nil
}

// Len is the number of elements.
func (b *Buffer[T]) Len() int { return b.All().Len() }

// Bytes is the number of bytes.
func (b *Buffer[T]) Bytes() uintptr { return b.span().bytes }

// Ptr is the device address. It is borrowed: keep the buffer reachable while
// the address is in use. Passing the buffer itself does.
func (b *Buffer[T]) Ptr() CUdeviceptr { return b.span().ptr }

// Context is where the buffer was allocated, nil for a nil buffer.
func (b *Buffer[T]) Context() *Context { return b.span().context() }

// Ref keeps the memory alive.
func (b *Buffer[T]) Ref() Ref { return b.span().ref() }

// All is the whole buffer as a view.
func (b *Buffer[T]) All() View[T] { return View[T]{b.span()} }

// View is elements lo to hi (without hi). A range that is not within the
// buffer makes a view that is empty and whose every use returns the error;
// View.Err has it at once.
func (b *Buffer[T]) View(lo, hi int) View[T] { return b.All().View(lo, hi) }

// CopyFrom copies src, which must be as long as the buffer, to the device and
// waits. See View.CopyFrom for its order with streams.
func (b *Buffer[T]) CopyFrom(src []T) error {
	err := b.All().CopyFrom(src)
	runtime.KeepAlive(b)
	return err
}

// CopyTo copies the buffer to dst, which must be as long, and waits. See
// View.CopyTo for its order with streams.
func (b *Buffer[T]) CopyTo(dst []T) error {
	err := b.All().CopyTo(dst)
	runtime.KeepAlive(b)
	return err
}

// Fill sets every element to v and waits.
func (b *Buffer[T]) Fill(v T) error {
	err := b.All().Fill(v)
	runtime.KeepAlive(b)
	return err
}

// Close frees the memory. Work that still uses it must be done, or at least
// ordered before: memory of Alloc is freed after the device has finished,
// memory of AllocAsync in the order of its stream. A graph that holds the
// buffer delays the freeing until it lets go.
func (b *Buffer[T]) Close() error {
	if b == nil || b.mem.a == nil {
		return nil
	}
	err := b.mem.a.Close()
	runtime.KeepAlive(b)
	return err
}

// String names the buffer for messages.
func (b *Buffer[T]) String() string {
	if b == nil || b.mem.a == nil {
		return "nil buffer of " + elemName[T]()
	}
	return fmt.Sprintf("%s (%d elements)", b.mem.a.life, b.Len())
}

func (b *Buffer[T]) span() span {
	if b == nil {
		return span{}
	}
	return b.mem
}
