package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// Buffer is device memory for Len elements of type T, which must not contain Go pointers. Closing
// the buffer closes its views.
type Buffer[T any] struct {
	mem span // must stay the first field: see Launch.setFast
}

// Alloc allocates uninitialised device memory for n elements. If n is 0, the address is 0. If
// memory runs out, the error matches CUDA_ERROR_OUT_OF_MEMORY and reports the requested size. Alloc
// may wait for the device and fails during a stream capture. For repeated allocations, use
// [AllocAsync].
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

func newBuffer[T any](n int) (kind string, bytes uintptr, err error) {
	bytes, err = bufferBytes[T](n)
	return "buffer of " + elemName[T](), bytes, err
}

func bufferBytes[T any](n int) (bytes uintptr, err error) {
	if bytes, err = elem.Bytes[T](n); err != nil {
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

// Ptr returns the device address. Keep b reachable while you use the address.
func (b *Buffer[T]) Ptr() CUdeviceptr { return b.span().ptr }

// Context returns the buffer's context.
func (b *Buffer[T]) Context() *Context { return b.span().context() }

// Ref returns a reference that keeps the memory alive.
func (b *Buffer[T]) Ref() life.Ref { return b.span().ref() }

// All returns the whole buffer as a view.
func (b *Buffer[T]) All() View[T] { return View[T]{b.span()} }

// View returns elements lo to hi-1, as [View.View] does.
func (b *Buffer[T]) View(lo, hi int) View[T] { return b.All().View(lo, hi) }

// CopyFrom copies src to the device: see [View.CopyFrom].
func (b *Buffer[T]) CopyFrom(src []T) error {
	err := b.All().CopyFrom(src)
	runtime.KeepAlive(b)
	return err
}

// CopyTo copies the buffer to dst: see [View.CopyTo].
func (b *Buffer[T]) CopyTo(dst []T) error {
	err := b.All().CopyTo(dst)
	runtime.KeepAlive(b)
	return err
}

// Fill sets every element to v and waits: see [View.Fill].
func (b *Buffer[T]) Fill(v T) error {
	err := b.All().Fill(v)
	runtime.KeepAlive(b)
	return err
}

// Close frees the memory. For a buffer from [Alloc], Close waits for the device. For a buffer from
// [AllocAsync], the free runs in stream order. First wait for work in other streams that uses the
// memory, or order it before the free.
func (b *Buffer[T]) Close() error {
	if b == nil || b.mem.a == nil {
		return nil
	}
	err := b.mem.a.Close()
	runtime.KeepAlive(b)
	return err
}

// String describes the buffer.
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

// View is a range of elements in a device buffer, which it keeps reachable.
type View[T any] struct {
	mem span // must stay the only field: see Launch.setFast
}

// ViewAs reinterprets memory as elements of another type, such as bytes or the words of a struct.
// The memory's size must be a multiple of the element size.
func ViewAs[T any](m Memory) (View[T], error) {
	if err := elem.Check[T](); err != nil {
		return View[T]{}, err
	}
	s, err := spanOf(m)
	if err != nil {
		return View[T]{}, err
	}
	if s.bytes%elem.Size[T]() != 0 {
		return View[T]{}, invalidf("%d bytes are not a whole number of %s (%d bytes each)", s.bytes, elemName[T](), elem.Size[T]())
	}
	return View[T]{s}, nil
}

func spanOf(m Memory) (span, error) {
	if m == nil {
		return span{}, nilError("buffer")
	}
	s := hiddenSpan(&m)
	return s, s.check()
}

// hiddenSpan calls span while hiding m from escape analysis, so that a View passed as Memory stays
// on the caller's stack. This is safe because span retains only the allocation, which is always on
// the heap, and no other package can implement span.
//
//go:nosplit
func hiddenSpan(m *Memory) span {
	at := uintptr(unsafe.Pointer(m))
	return (**(**Memory)(unsafe.Pointer(&at))).span()
}

// Len returns the number of elements.
func (v View[T]) Len() int { return count[T](v.mem.bytes) }

// Bytes returns the size in bytes.
func (v View[T]) Bytes() uintptr { return v.mem.bytes }

// Ptr returns the device address. Keep v reachable while you use the address.
func (v View[T]) Ptr() CUdeviceptr { return v.mem.ptr }

// Context returns the memory's context.
func (v View[T]) Context() *Context { return v.mem.context() }

// Ref returns a reference that keeps the memory alive.
func (v View[T]) Ref() life.Ref { return v.mem.ref() }

// All returns v. It is needed to implement MemoryOf.
func (v View[T]) All() View[T] { return v }

// Err returns an error if the view is closed, zero or out of range.
func (v View[T]) Err() error { return v.mem.check() }

// View returns elements lo to hi-1. If the range is not within the view, the result is empty, and
// Err and every use of the result return an error.
func (v View[T]) View(lo, hi int) View[T] {
	if v.mem.a == nil || v.mem.a.bad != nil {
		return v
	}
	if lo < 0 || hi < lo || hi > v.Len() {
		return View[T]{span{a: badAllocation(rangeError(v, lo, hi, v.Len()))}}
	}
	size := elem.Size[T]()
	return View[T]{v.mem.sub(uintptr(lo)*size, uintptr(hi-lo)*size)}
}

// badAllocation returns the allocation of a view that could not be created. It is not inlined
// because every allocation must be on the heap: see hiddenSpan.
//
//go:noinline
func badAllocation(err error) *allocation { return &allocation{bad: err} }

// CopyFrom copies src, which must have the view's length, to the device and returns when the data
// has arrived. The copy runs on the legacy default stream and is not ordered with the non-blocking
// streams of NewStream: first wait for work there that accesses the memory. Work enqueued
// afterwards sees the new data. To copy in stream order, use [Upload].
func (v View[T]) CopyFrom(src []T) error {
	d, err := v.syncCopy("copy into", len(src))
	if d == nil || err != nil {
		return err
	}
	if err := d.CuMemcpyHtoD(v.mem.ptr, unsafe.Pointer(unsafe.SliceData(src)), v.mem.bytes); err != nil {
		return fmt.Errorf("copy of %d bytes to %v: %w", v.mem.bytes, v, err)
	}
	// For pageable memory, the driver may return once the data is staged. A kernel in a
	// non-blocking stream could then overtake the rest of the copy.
	if err = d.CuStreamSynchronize(0); err == nil {
		err = v.mem.a.ctx.legacyFaults()
	}
	runtime.KeepAlive(v.mem.a)
	return err
}

// CopyTo copies the view to dst, which must have the same length, and returns when the data has
// arrived. Like CopyFrom, it runs on the legacy default stream: first wait for the work that
// produces the data. It is never recorded in a capture: it copies what the memory contains now,
// before any recorded work runs. To record a copy, use [Download].
func (v View[T]) CopyTo(dst []T) error {
	d, err := v.syncCopy("copy from", len(dst))
	if d == nil || err != nil {
		return err
	}
	err = d.CuMemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), v.mem.ptr, v.mem.bytes)
	if err == nil {
		err = v.mem.a.ctx.legacyFaults()
	}
	runtime.KeepAlive(v.mem.a)
	if err != nil {
		return fmt.Errorf("copy of %d bytes from %v: %w", v.mem.bytes, v, err)
	}
	return nil
}

// syncCopy checks a copy of n elements to or from the host. If there is nothing to copy, it returns
// a nil driver.
func (v View[T]) syncCopy(what string, n int) (*Driver, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	if err := v.mem.check(); err != nil {
		return nil, fmt.Errorf("%s device memory: %w", what, err)
	}
	if n != v.Len() {
		size := elem.Size[T]()
		return nil, invalidf("%s %v: the slice has %d elements (%d bytes), the device memory %d (%d bytes); use a View of the part to copy",
			what, v, n, uintptr(n)*size, v.Len(), v.mem.bytes)
	}
	if n == 0 {
		return nil, nil
	}
	return v.mem.a.ctx.Driver(), nil
}

// Fill sets every element to val and waits, like CopyFrom. Elements may have any size. If val does
// not repeat 1, 2 or 4 bytes, Fill makes several passes.
func (v View[T]) Fill(val T) error {
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	if err := v.mem.check(); err != nil {
		return fmt.Errorf("fill of device memory: %w", err)
	}
	if v.mem.bytes == 0 {
		return nil
	}
	value := unsafe.Slice((*byte)(unsafe.Pointer(&val)), elem.Size[T]())
	d := v.mem.a.ctx.Driver()
	err := fillNow(d, v.mem, value)
	if err == nil {
		err = d.CuStreamSynchronize(0)
	}
	if err == nil {
		err = v.mem.a.ctx.legacyFaults()
	}
	runtime.KeepAlive(v.mem.a)
	if err != nil {
		return fmt.Errorf("fill of %v: %w", v, err)
	}
	return nil
}

// String describes the view.
func (v View[T]) String() string {
	if v.mem.a == nil {
		return "zero view of " + reflect.TypeFor[T]().String()
	}
	return fmt.Sprintf("%d × %s at %#x", v.Len(), reflect.TypeFor[T](), uint64(v.mem.ptr))
}

func (v View[T]) span() span { return v.mem }

func (v View[T]) elemSize() uintptr { return elem.Size[T]() }

func (b *Buffer[T]) elemSize() uintptr { return elem.Size[T]() }
