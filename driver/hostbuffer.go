package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// HostBuffer is page-locked host memory for Len elements of type T. Copies between it and the
// device are asynchronous and run at full speed, and graphs can use it. The memory is outside Go's
// heap: see [HostBuffer.Slice].
type HostBuffer[T any] struct {
	mem hostSpan
}

// HostOption changes how host memory is allocated or registered.
type HostOption func(*hostOptions)

type hostOptions struct{ alloc, register uint32 }

// WithWriteCombined selects memory that the device reads faster but the host reads very slowly. Use
// it for memory that the host only writes.
func WithWriteCombined() HostOption {
	return func(o *hostOptions) { o.alloc |= cu.CU_MEMHOSTALLOC_WRITECOMBINED }
}

// WithReadOnly declares that the device only reads registered memory.
func WithReadOnly() HostOption {
	return func(o *hostOptions) { o.register |= cu.CU_MEMHOSTREGISTER_READ_ONLY }
}

func hostFlags(opts []HostOption) hostOptions {
	// PORTABLE makes the memory page-locked for every context. DEVICEMAP makes it accessible to
	// kernels.
	o := hostOptions{
		alloc:    cu.CU_MEMHOSTALLOC_PORTABLE | cu.CU_MEMHOSTALLOC_DEVICEMAP,
		register: cu.CU_MEMHOSTREGISTER_PORTABLE | cu.CU_MEMHOSTREGISTER_DEVICEMAP,
	}
	absent.Apply(opts, &o)
	return o
}

// AllocHost allocates zeroed page-locked memory for n elements. Reuse the memory, because
// allocating it is much slower than on Go's heap. If host memory runs out, the error matches
// CUDA_ERROR_OUT_OF_MEMORY.
func AllocHost[T any](c *Context, n int, opts ...HostOption) (*HostBuffer[T], error) {
	kind, bytes, err := newHostBuffer[T](n)
	if err != nil {
		return nil, err
	}
	mem, err := allocateHost(c, kind, bytes, hostFlags(opts).alloc)
	if err != nil {
		return nil, err
	}
	return &HostBuffer[T]{mem}, nil
}

// AllocHostFrom allocates page-locked memory and copies src into it.
func AllocHostFrom[T any](c *Context, src []T, opts ...HostOption) (*HostBuffer[T], error) {
	h, err := AllocHost[T](c, len(src), opts...)
	if err != nil {
		return nil, err
	}
	copy(h.Slice(), src)
	return h, nil
}

// RegisterHost page-locks the memory of an existing slice until Close. The slice may be on Go's
// heap: the buffer keeps it alive.
func RegisterHost[T any](c *Context, s []T, opts ...HostOption) (*HostBuffer[T], error) {
	kind, bytes, err := newHostBuffer[T](len(s))
	if err != nil {
		return nil, err
	}
	mem, err := registerHost(c, kind, unsafe.Pointer(unsafe.SliceData(s)), bytes, hostFlags(opts).register)
	if err != nil {
		return nil, err
	}
	return &HostBuffer[T]{mem}, nil
}

func newHostBuffer[T any](n int) (kind string, bytes uintptr, err error) {
	kind = "host buffer of " + elemName[T]()
	if bytes, err = elem.Bytes[T](n); err != nil {
		return kind, 0, fmt.Errorf("cannot make %s: %w", life.AKind(kind), err)
	}
	return kind, bytes, nil
}

func allocateHost(c *Context, kind string, bytes uintptr, flags uint32) (hostSpan, error) {
	if err := hostthread.Refuse(); err != nil {
		return hostSpan{}, err
	}
	l, err := newLifetime(c, kind)
	if err != nil {
		return hostSpan{}, err
	}
	a := &hostAllocation{life: l, ctx: c}
	if bytes == 0 {
		life.Own(a, l, 0, nil)
		return hostSpan{a: a}, nil
	}
	var p unsafe.Pointer
	if err := c.Driver().CuMemHostAlloc(&p, bytes, flags); err != nil {
		return hostSpan{}, l.Abandon(fmt.Errorf("%d bytes: %w", bytes, err))
	}
	clear(unsafe.Slice((*byte)(p), bytes))
	life.Own(a, l, uint64(uintptr(p)), func(d *cu.Driver) error { return d.CuMemFreeHost(p) })
	return hostSpan{a, p, bytes}, nil
}

func registerHost(c *Context, kind string, p unsafe.Pointer, bytes uintptr, flags uint32) (hostSpan, error) {
	if err := hostthread.Refuse(); err != nil {
		return hostSpan{}, err
	}
	l, err := newLifetime(c, kind)
	if err != nil {
		return hostSpan{}, err
	}
	pin := new(runtime.Pinner)
	a := &hostAllocation{life: l, ctx: c, keep: p}
	if bytes == 0 {
		life.Own(a, l, 0, nil)
		return hostSpan{a: a}, nil
	}
	pin.Pin(p)
	if err := c.Driver().CuMemHostRegister(p, bytes, flags); err != nil {
		pin.Unpin()
		return hostSpan{}, l.Abandon(fmt.Errorf("%d bytes at %#x: %w", bytes, uintptr(p), err))
	}
	life.Own(a, l, uint64(uintptr(p)), func(d *cu.Driver) error {
		defer pin.Unpin()
		return d.CuMemHostUnregister(p)
	})
	return hostSpan{a, p, bytes}, nil
}

// Slice returns the memory as a Go slice, or nil for a nil, closed or empty buffer. The slice is
// valid while the buffer is reachable and open. Before you use the slice, wait for device work that
// accesses the memory.
func (h *HostBuffer[T]) Slice() []T { return h.All().Slice() }

// Len returns the number of elements.
func (h *HostBuffer[T]) Len() int { return h.All().Len() }

// Bytes returns the size in bytes.
func (h *HostBuffer[T]) Bytes() uintptr { return h.hostSpan().bytes }

// HostPtr returns the memory's address.
func (h *HostBuffer[T]) HostPtr() unsafe.Pointer { return h.hostSpan().ptr }

// Context returns the memory's context.
func (h *HostBuffer[T]) Context() *Context { return h.All().Context() }

// Ref returns a reference that keeps the memory alive.
func (h *HostBuffer[T]) Ref() life.Ref { return h.hostSpan().ref() }

// All returns the whole buffer as a view.
func (h *HostBuffer[T]) All() HostView[T] { return HostView[T]{h.hostSpan()} }

// View returns elements lo to hi-1, as [HostView.View] does.
func (h *HostBuffer[T]) View(lo, hi int) HostView[T] { return h.All().View(lo, hi) }

// Device returns a view through which kernels access the memory over the bus.
func (h *HostBuffer[T]) Device() (View[T], error) {
	s := h.hostSpan()
	if err := s.check(); err != nil {
		return View[T]{}, err
	}
	a := &allocation{life: s.a.life, ctx: s.a.ctx, bytes: s.bytes, owner: s.a}
	if s.bytes > 0 {
		if err := s.a.ctx.Driver().CuMemHostGetDevicePointer(&a.ptr, s.ptr, 0); err != nil {
			return View[T]{}, fmt.Errorf("device address of %v: %w", h, err)
		}
	}
	return View[T]{span{a, a.ptr, a.bytes}}, nil
}

// Close frees or unregisters the memory. First wait for copies that use it.
func (h *HostBuffer[T]) Close() error {
	if h == nil || h.mem.a == nil {
		return nil
	}
	err := h.mem.a.life.Close()
	runtime.KeepAlive(h)
	return err
}

// String describes the buffer.
func (h *HostBuffer[T]) String() string {
	if h == nil || h.mem.a == nil {
		return "nil host buffer of " + elemName[T]()
	}
	return fmt.Sprintf("%s (%d elements)", h.mem.a.life, h.Len())
}

func (h *HostBuffer[T]) hostSpan() hostSpan {
	if h == nil {
		return hostSpan{}
	}
	return h.mem
}

// HostView is a range of a page-locked buffer, which it keeps alive.
type HostView[T any] struct {
	mem hostSpan
}

// Slice returns the memory as a Go slice: see [HostBuffer.Slice].
func (v HostView[T]) Slice() []T {
	if v.mem.check() != nil || v.mem.ptr == nil {
		return nil
	}
	return unsafe.Slice((*T)(v.mem.ptr), v.Len())
}

// Len returns the number of elements.
func (v HostView[T]) Len() int { return count[T](v.mem.bytes) }

// Bytes returns the size in bytes.
func (v HostView[T]) Bytes() uintptr { return v.mem.bytes }

// HostPtr returns the memory's address.
func (v HostView[T]) HostPtr() unsafe.Pointer { return v.mem.ptr }

// Context returns the memory's context.
func (v HostView[T]) Context() *Context {
	if v.mem.a == nil {
		return nil
	}
	return v.mem.a.ctx
}

// Ref returns a reference that keeps the memory alive.
func (v HostView[T]) Ref() life.Ref { return v.mem.ref() }

// All returns v. It is needed to implement HostMemoryOf.
func (v HostView[T]) All() HostView[T] { return v }

// Err returns an error if the view is closed, zero or out of range.
func (v HostView[T]) Err() error { return v.mem.check() }

// View returns elements lo to hi-1. If the range is not within the view, the result is empty, and
// Err and every use of the result return an error.
func (v HostView[T]) View(lo, hi int) HostView[T] {
	if v.mem.a == nil || v.mem.a.bad != nil {
		return v
	}
	if lo < 0 || hi < lo || hi > v.Len() {
		return HostView[T]{hostSpan{a: &hostAllocation{bad: rangeError(v, lo, hi, v.Len())}}}
	}
	size := elem.Size[T]()
	return HostView[T]{v.mem.sub(uintptr(lo)*size, uintptr(hi-lo)*size)}
}

// String describes the view.
func (v HostView[T]) String() string {
	if v.mem.a == nil {
		return "zero host view of " + elemName[T]()
	}
	return fmt.Sprintf("%d × %s in page-locked memory at %#x", v.Len(), elemName[T](), uintptr(v.mem.ptr))
}

func (v HostView[T]) hostSpan() hostSpan { return v.mem }

func (v HostView[T]) span() span    { return hostIsNotDevice }
func (h *HostBuffer[T]) span() span { return hostIsNotDevice }

func (v HostView[T]) elemSize() uintptr    { return elem.Size[T]() }
func (h *HostBuffer[T]) elemSize() uintptr { return elem.Size[T]() }
