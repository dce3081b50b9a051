package driver

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
)

// Memory is any memory that operations accept: a *Buffer or View in device memory, a *HostBuffer or
// HostView in page-locked memory, or an *Array. Calls that require device memory return an error
// for the other kinds.
type Memory interface {
	// Bytes returns the size of the memory.
	Bytes() uintptr
	// Context returns the memory's context, or nil for a zero View.
	Context() *Context
	// Ref returns a reference that keeps the memory alive, or nil for a nil buffer.
	Ref() life.Ref

	span() span
	// elemSize returns the size of an element in bytes.
	elemSize() uintptr
}

// MemoryOf is device memory with elements of type T: a *Buffer or a View.
type MemoryOf[T any] interface {
	Memory
	// Ptr returns the device address, which is 0 for an empty buffer.
	Ptr() CUdeviceptr
	// All returns the whole range as a view.
	All() View[T]
}

// allocation is one block of device memory. A buffer and all its views share the allocation and
// keep it alive.
type allocation struct {
	life  *life.Lifetime
	ctx   *Context
	ptr   CUdeviceptr
	bytes uintptr
	order *ordered     // set for stream-ordered memory
	owner any          // keeps the module, host memory or graph that contains this block reachable
	bad   error        // why the view could not be created, or nil
	watch life.Watched // leak watch of stream-ordered memory
}

// owned is a buffer and its allocation in one object, which saves a heap allocation.
type owned[T any] struct {
	buf Buffer[T]
	a   allocation
}

// set points the buffer at its allocation, whose fields are already set.
func (o *owned[T]) set() *Buffer[T] {
	o.buf.mem = span{&o.a, o.a.ptr, o.a.bytes}
	return &o.buf
}

func (a *allocation) Lifetime() *life.Lifetime { return a.life }

// span is a range of an allocation. Buffer and View consist of a single span, so that a launch can
// read it from an argument without an interface call.
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

func (s span) String() string {
	return fmt.Sprintf("device memory %#x (%d bytes)", uint64(s.ptr), s.bytes)
}

// HostMemoryOf is page-locked host memory with elements of type T: a *HostBuffer[T] or a
// HostView[T]. Asynchronous copies require it, because the driver accesses the memory after the
// call has returned.
type HostMemoryOf[T any] interface {
	hostMemory
	// HostPtr returns the address, which is nil for an empty buffer.
	HostPtr() unsafe.Pointer
	// All returns the whole range as a view.
	All() HostView[T]
}

type hostMemory interface {
	Memory
	hostSpan() hostSpan
}

// notDevice returns the span for memory that has no device addresses. The span's check method
// returns an error that contains advice.
func notDevice(what, advice string) span {
	return span{a: &allocation{bad: invalidf("%s is not device memory; %s", what, advice)}}
}

var hostIsNotDevice = notDevice("page-locked host memory", "pass what its Device method returns")

type hostAllocation struct {
	life *life.Lifetime
	ctx  *Context
	keep any // Go memory that RegisterHost page-locked
	bad  error
}

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

// sub returns the length bytes that begin at offset. The caller must already have checked the
// range.
func (s span) sub(offset, length uintptr) span {
	return span{s.a, s.ptr + CUdeviceptr(offset), length}
}

func (s hostSpan) sub(offset, length uintptr) hostSpan {
	if length == 0 { // for an empty range at the end, unsafe.Add would point past the memory
		return hostSpan{s.a, s.ptr, 0}
	}
	return hostSpan{s.a, unsafe.Add(s.ptr, offset), length}
}

func rangeError(of fmt.Stringer, lo, hi, length int) error {
	return invalidf("view [%d:%d] is outside %v, which has %d elements", lo, hi, of, length)
}

// count returns how many elements of type T fit in n bytes. If the size of T is 0, it returns 0.
func count[T any](n uintptr) int {
	size := elem.Size[T]()
	if size == 0 {
		return 0
	}
	return int(n / size)
}

func elemName[T any]() string { return reflect.TypeFor[T]().String() }

// invalidError reports an invalid argument that was detected before a driver call. It matches
// CUDA_ERROR_INVALID_VALUE, which the driver returns for most invalid arguments.
type invalidError struct{ text string }

func (e *invalidError) Error() string        { return e.text }
func (e *invalidError) Is(target error) bool { return target == error(CUDA_ERROR_INVALID_VALUE) }

func invalidf(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// joinClose closes the object made, which was created before err occurred. It returns both err and
// any error from Close.
func joinClose(err error, made interface{ Close() error }) error {
	return errors.Join(err, made.Close())
}
