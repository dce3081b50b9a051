package driver

import (
	"fmt"
	"unsafe"

	"github.com/purecuda/cuda/internal/life"
)

// Memory is any memory that operations take: a *Buffer or a View on the device, page-locked memory
// (*HostBuffer, HostView), or an *Array. Calls that require device memory return an error for the
// others.
type Memory interface {
	// Bytes returns the size of the memory.
	Bytes() uintptr
	// Context returns the memory's context, nil for a zero View.
	Context() *Context
	// Ref keeps the memory alive, nil for a nil buffer.
	Ref() life.Ref

	span() span
}

// MemoryOf is device memory that holds elements of type T: a *Buffer[T] or a View[T].
type MemoryOf[T any] interface {
	Memory
	// Ptr returns the device address, 0 for memory of no bytes.
	Ptr() CUdeviceptr
	// All returns the whole range as a view.
	All() View[T]
}

// allocation is one piece of device memory. Its buffer and all views share it, so it lives as long
// as any of them.
type allocation struct {
	life  *life.Lifetime
	ctx   *Context
	ptr   CUdeviceptr
	bytes uintptr
	order *ordered     // of a stream-ordered allocation; nil: cuMemAlloc
	owner any          // keeps what the memory is a part of (a module, host memory)
	bad   error        // stands for a view that could not be made, and says why
	watch life.Watched // of memory that comes and goes in the order of a stream
}

// owned is a buffer that is allocated together with its allocation.
type owned[T any] struct {
	buf Buffer[T]
	a   allocation
}

// set sets the buffer's allocation, whose other fields are already set.
func (o *owned[T]) set() *Buffer[T] {
	o.buf.mem = span{&o.a, o.a.ptr, o.a.bytes}
	return &o.buf
}

// Lifetime implements Ref.
func (a *allocation) Lifetime() *life.Lifetime { return a.life }

// span is a range of an allocation. Buffer and View contain only a span, at offset 0, so that
// kernel arguments can be read from them without an interface.
type span struct {
	a     *allocation
	ptr   CUdeviceptr
	bytes uintptr
}

func (s span) check() error {
	if s.a == nil {
		return nilError("buffer")
	}
	if s.a.bad != nil {
		return s.a.bad
	}
	return s.a.life.Check()
}

func (s span) ref() life.Ref {
	if s.a == nil {
		return nil
	}
	return s.a
}

func (s hostSpan) ref() life.Ref {
	if s.a == nil {
		return nil
	}
	return s.a
}

func (s span) context() *Context {
	if s.a == nil {
		return nil
	}
	return s.a.ctx
}

// String describes the range for messages.
func (s span) String() string {
	return fmt.Sprintf("device memory %#x (%d bytes)", uint64(s.ptr), s.bytes)
}

// HostMemoryOf is page-locked host memory that holds elements of type T: a *HostBuffer[T] or a
// HostView[T]. Asynchronous copies require such memory, because the driver accesses it after the
// call has returned.
type HostMemoryOf[T any] interface {
	hostMemory
	// HostPtr returns the address, nil for memory of no bytes.
	HostPtr() unsafe.Pointer
	// All returns the whole range as a view.
	All() HostView[T]
}

// hostMemory is page-locked memory of any type.
type hostMemory interface {
	Memory
	hostSpan() hostSpan
}

// notDevice returns the span of memory that device addresses cannot reach: its use is an error.
func notDevice(what, advice string) span {
	return span{a: &allocation{bad: invalidf("%s is not device memory; %s", what, advice)}}
}

// hostIsNotDevice is the span of page-locked memory.
var hostIsNotDevice = notDevice("page-locked host memory", "pass what its Device method returns")

// hostAllocation is one piece of page-locked memory.
type hostAllocation struct {
	life *life.Lifetime
	ctx  *Context
	keep any // Go memory that was registered instead of allocated
	bad  error
}

// Lifetime implements Ref.
func (a *hostAllocation) Lifetime() *life.Lifetime { return a.life }

type hostSpan struct {
	a     *hostAllocation
	ptr   unsafe.Pointer
	bytes uintptr
}

func (s hostSpan) check() error {
	if s.a == nil {
		return nilError("host buffer")
	}
	if s.a.bad != nil {
		return s.a.bad
	}
	return s.a.life.Check()
}

func (s hostSpan) String() string {
	return fmt.Sprintf("page-locked memory %#x (%d bytes)", uintptr(s.ptr), s.bytes)
}

// sub returns length bytes from offset on. The caller has checked both.
func (s span) sub(offset, length uintptr) span {
	return span{s.a, s.ptr + CUdeviceptr(offset), length}
}

func (s hostSpan) sub(offset, length uintptr) hostSpan {
	if length == 0 { // at the end, unsafe.Add would point behind the memory
		return hostSpan{s.a, s.ptr, 0}
	}
	return hostSpan{s.a, unsafe.Add(s.ptr, offset), length}
}

// rangeError is the error of a view outside of the memory that it was taken from.
func rangeError(of fmt.Stringer, lo, hi, length int) error {
	return invalidf("view [%d:%d] is outside %v, which has %d elements", lo, hi, of, length)
}

// sizeOf returns the size of a T in bytes.
func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// count returns how many T fit in n bytes.
func count[T any](n uintptr) int {
	size := sizeOf[T]()
	if size == 0 {
		return 0
	}
	return int(n / size)
}
