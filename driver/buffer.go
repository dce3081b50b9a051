package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// Buffer is device memory for Len elements of type T, which must not contain Go pointers. Views of
// a buffer share its memory and keep it reachable. Closing the buffer also closes its views.
type Buffer[T any] struct {
	mem span // first: see Launch.setFast
}

// Alloc allocates uninitialised device memory for n elements. With n = 0 the buffer has address 0.
// If memory is short, the error matches CUDA_ERROR_OUT_OF_MEMORY and says how many bytes were
// requested.
//
// Alloc uses cuMemAlloc, which may wait for the device and fails during a stream capture. For
// repeated allocations, use AllocAsync.
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

// AllocFrom allocates a buffer of src's length and copies src into it.
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

// newBuffer is bufferBytes, and also returns the kind of object.
func newBuffer[T any](n int) (kind string, bytes uintptr, err error) {
	bytes, err = bufferBytes[T](n)
	return "buffer of " + elemName[T](), bytes, err
}

// bufferBytes checks the arguments that all buffer constructors take.
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
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	l, err := newLifetime(c, kind)
	if err != nil {
		return nil, err
	}
	a := &allocation{life: l, ctx: c, bytes: bytes}
	if bytes == 0 {
		life.Own(a, l, 0, nil)
		return a, nil
	}
	if err := c.Driver().CuMemAlloc(&a.ptr, bytes); err != nil {
		return nil, l.Abandon(fmt.Errorf("%d bytes: %w", bytes, err))
	}
	ptr := a.ptr
	life.Own(a, l, uint64(ptr), func(d *cu.Driver) error { return d.CuMemFree(ptr) })
	return a, nil
}

// Len returns the number of elements.
func (b *Buffer[T]) Len() int { return b.All().Len() }

// Bytes returns the size in bytes.
func (b *Buffer[T]) Bytes() uintptr { return b.span().bytes }

// Ptr returns the device address. Keep the buffer reachable while you use the address. Passing the
// buffer itself does that.
func (b *Buffer[T]) Ptr() CUdeviceptr { return b.span().ptr }

// Context returns the buffer's context, nil for a nil buffer.
func (b *Buffer[T]) Context() *Context { return b.span().context() }

// Ref keeps the memory alive.
func (b *Buffer[T]) Ref() life.Ref { return b.span().ref() }

// All returns the whole buffer as a view.
func (b *Buffer[T]) All() View[T] { return View[T]{b.span()} }

// View returns elements lo up to, but not including, hi. If the range is not within the buffer, the
// view is empty and every use of it returns the error, as does View.Err.
func (b *Buffer[T]) View(lo, hi int) View[T] { return b.All().View(lo, hi) }

// CopyFrom copies src, which must have the buffer's length, to the device and waits. See
// View.CopyFrom for its order with streams.
func (b *Buffer[T]) CopyFrom(src []T) error {
	err := b.All().CopyFrom(src)
	runtime.KeepAlive(b)
	return err
}

// CopyTo copies the buffer to dst, which must have the same length, and waits. See View.CopyTo for
// its order with streams.
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

// Close frees the memory. Wait for work that still uses it, or order that work before the free:
// memory from Alloc is freed once the device has finished, memory from AllocAsync in the order of
// its stream. A graph that refers to the buffer delays the free.
func (b *Buffer[T]) Close() error {
	if b == nil || b.mem.a == nil {
		return nil
	}
	err := b.mem.a.Close()
	runtime.KeepAlive(b)
	return err
}

// String describes the buffer for messages.
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
