package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// Buffer is device memory for Len elements of type T, without Go pointers. Views share its memory
// and keep it reachable. Closing it closes its views.
type Buffer[T any] struct {
	mem span // first: see Launch.setFast
}

// Alloc allocates uninitialised device memory for n elements, at address 0 if n is 0. If memory is
// short, the error matches CUDA_ERROR_OUT_OF_MEMORY and says how many bytes were requested.
// cuMemAlloc may wait for the device and fails during a stream capture. For repeated allocations,
// use [AllocAsync].
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

// Ptr returns the device address. Keep the buffer reachable while you use it.
func (b *Buffer[T]) Ptr() CUdeviceptr { return b.span().ptr }

// Context returns the buffer's context.
func (b *Buffer[T]) Context() *Context { return b.span().context() }

// Ref keeps the memory alive.
func (b *Buffer[T]) Ref() life.Ref { return b.span().ref() }

// All returns the whole buffer as a view.
func (b *Buffer[T]) All() View[T] { return View[T]{b.span()} }

// View returns elements lo to hi-1, as [View.View] does.
func (b *Buffer[T]) View(lo, hi int) View[T] { return b.All().View(lo, hi) }

// CopyFrom copies src, of the same length, to the device: see [View.CopyFrom].
func (b *Buffer[T]) CopyFrom(src []T) error {
	err := b.All().CopyFrom(src)
	runtime.KeepAlive(b)
	return err
}

// CopyTo copies the buffer to dst, of the same length: see [View.CopyTo].
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

// Close frees the memory: from [Alloc] once the device has finished, from [AllocAsync] in the order
// of its stream. Before, wait for work in other streams that uses it, or order that work before the
// free.
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

// View is a part of a device buffer: elements of type T at fixed addresses. It is a small value,
// shares the buffer's memory and keeps it reachable.
type View[T any] struct {
	mem span // only field: see Launch.setFast
}

// ViewAs returns memory as elements of another type, of which it must hold a whole number, such as
// bytes or the words of a struct.
func ViewAs[T any](m Memory) (View[T], error) {
	if err := checkElem[T](); err != nil {
		return View[T]{}, err
	}
	s, err := spanOf(m)
	if err != nil {
		return View[T]{}, err
	}
	if s.bytes%sizeOf[T]() != 0 {
		return View[T]{}, invalidf("%d bytes are not a whole number of %s (%d bytes each)", s.bytes, elemName[T](), sizeOf[T]())
	}
	return View[T]{s}, nil
}

// spanOf returns the memory's range, or an error.
func spanOf(m Memory) (span, error) {
	if m == nil {
		return span{}, nilError("buffer")
	}
	s := hiddenSpan(&m)
	return s, s.check()
}

// hiddenSpan calls span while hiding m from escape analysis, so that a View passed as Memory stays
// on the caller's stack. The call only keeps the allocation, which is always on the heap. Only this
// package has span methods.
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

// Ptr returns the device address. Keep the view or buffer reachable meanwhile.
func (v View[T]) Ptr() CUdeviceptr { return v.mem.ptr }

// Context returns the memory's context.
func (v View[T]) Context() *Context { return v.mem.context() }

// Ref keeps the memory alive.
func (v View[T]) Ref() life.Ref { return v.mem.ref() }

// All returns v itself and makes View a MemoryOf.
func (v View[T]) All() View[T] { return v }

// Err returns nil, or why not: the view is closed, zero, or out of range.
func (v View[T]) Err() error { return v.mem.check() }

// View returns elements lo to hi-1. If they are not all within the view, the result is empty and
// every use of it returns the error, as does Err.
func (v View[T]) View(lo, hi int) View[T] {
	if v.mem.a == nil || v.mem.a.bad != nil {
		return v
	}
	if lo < 0 || hi < lo || hi > v.Len() {
		return View[T]{span{a: badAllocation(rangeError(v, lo, hi, v.Len()))}}
	}
	size := sizeOf[T]()
	return View[T]{v.mem.sub(uintptr(lo)*size, uintptr(hi-lo)*size)}
}

// badAllocation stands for a view that could not be created. It is not inlined because every
// allocation must be on the heap: see hiddenSpan.
//
//go:noinline
func badAllocation(err error) *allocation { return &allocation{bad: err} }

// CopyFrom copies src, which must have the view's length, to the device and returns when the data
// is there. The copy runs on the legacy default stream, unordered with work in the non-blocking
// streams of NewStream: first wait for work that accesses the memory. Work enqueued afterwards sees
// the data. To copy in stream order, use [Upload].
func (v View[T]) CopyFrom(src []T) error {
	d, err := v.syncCopy("copy into", len(src))
	if d == nil || err != nil {
		return err
	}
	if err := d.CuMemcpyHtoD(v.mem.ptr, unsafe.Pointer(unsafe.SliceData(src)), v.mem.bytes); err != nil {
		return fmt.Errorf("copy of %d bytes to %v: %w", v.mem.bytes, v, err)
	}
	// From pageable memory the driver may return once the data is staged. A kernel in a
	// non-blocking stream could then overtake the rest of the copy.
	err = d.CuStreamSynchronize(0)
	runtime.KeepAlive(v.mem.a)
	return err
}

// CopyTo copies the view to dst, which must have the same length, and returns when the data is
// there. Like CopyFrom, it runs on the legacy default stream: first wait for the work that produces
// the data. A capture never records it: it copies the current contents, before recorded work. To
// record it, use [Download].
func (v View[T]) CopyTo(dst []T) error {
	d, err := v.syncCopy("copy from", len(dst))
	if d == nil || err != nil {
		return err
	}
	err = d.CuMemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), v.mem.ptr, v.mem.bytes)
	runtime.KeepAlive(v.mem.a)
	if err != nil {
		return fmt.Errorf("copy of %d bytes from %v: %w", v.mem.bytes, v, err)
	}
	return nil
}

// syncCopy checks a copy with n elements on the host. It returns a nil driver if there is nothing
// to do.
func (v View[T]) syncCopy(what string, n int) (*Driver, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	if err := v.mem.check(); err != nil {
		return nil, fmt.Errorf("%s device memory: %w", what, err)
	}
	if n != v.Len() {
		size := sizeOf[T]()
		return nil, invalidf("%s %v: the slice has %d elements (%d bytes), the device memory %d (%d bytes); use a View of the part to copy",
			what, v, n, uintptr(n)*size, v.Len(), v.mem.bytes)
	}
	if n == 0 {
		return nil, nil
	}
	return v.mem.a.ctx.Driver(), nil
}

// Fill sets every element to val and waits, like CopyFrom. Elements may have any size. Those whose
// bytes do not repeat take several passes.
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
	value := unsafe.Slice((*byte)(unsafe.Pointer(&val)), sizeOf[T]())
	d := v.mem.a.ctx.Driver()
	err := fillNow(d, v.mem, value)
	if err == nil {
		err = d.CuStreamSynchronize(0)
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
