// Package elem checks which Go types may be elements of device and page-locked memory, and computes
// the size of elements. Package driver and the allocators built on it use it.
package elem

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// MaxBytes is the largest size of one block of memory.
const MaxBytes = ^uintptr(0) >> 1

// Size returns the size of T in bytes.
func Size[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// Bytes returns the size of n elements in bytes. It returns an error if device memory cannot
// contain values of T, or if n is negative or too large.
func Bytes[T any](n int) (uintptr, error) {
	if err := Check[T](); err != nil {
		return 0, err
	}
	size := Size[T]()
	if n < 0 {
		return 0, invalidf("negative length %d", n)
	}
	if uintptr(n) > MaxBytes/size {
		return 0, invalidf("length %d × %d bytes does not fit the address space", n, size)
	}
	return uintptr(n) * size, nil
}

// refused caches the result of CheckType for each type: a reflect.Type maps to an error, which may
// be nil.
var refused sync.Map

// Check returns nil if device and page-locked memory may contain values of T. The size of T must
// not be 0. It must not contain Go pointers: the garbage collector does not scan that memory, and
// the GPU cannot follow the pointers.
func Check[T any]() error { return CheckType(reflect.TypeFor[T]()) }

// CheckType is like Check, for a type that is known at run time.
func CheckType(t reflect.Type) error {
	if k := t.Kind(); k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr {
		return nil // fast path without the table
	}
	if v, ok := refused.Load(t); ok {
		err, _ := v.(error)
		return err
	}
	err := problem(t)
	refused.Store(t, err)
	return err
}

func problem(t reflect.Type) error {
	if path, found := goPointer(t, ""); found != nil {
		if path == "" {
			return invalidf("type %v cannot be used in device memory: it is %s", t, goKind(found.Kind()))
		}
		return invalidf("type %v cannot be used in device memory: %s is %s (%v)", t, path, goKind(found.Kind()), found)
	}
	if t.Size() == 0 {
		return invalidf("type %v cannot be used in device memory: it has no size", t)
	}
	return nil
}

// goKind names a kind of Go value that refers to Go memory, or returns "" for other kinds.
func goKind(k reflect.Kind) string {
	switch k {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Uintptr:
		return "a Go pointer"
	case reflect.Func:
		return "a Go function"
	case reflect.Chan:
		return "a Go channel"
	}
	return "a Go " + k.String()
}

// goPointer returns the path and the type of the first Go pointer in values of t. If there is none,
// the type is nil.
func goPointer(t reflect.Type, path string) (string, reflect.Type) {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() == 0 {
			return "", nil
		}
		return goPointer(t.Elem(), path+"[0]")
	case reflect.Struct:
		if deviceView(t) {
			return "", nil
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if p, found := goPointer(f.Type, path+"."+f.Name); found != nil {
				return p, found
			}
		}
		return "", nil
	case reflect.Pointer, reflect.UnsafePointer, reflect.Slice, reflect.String,
		reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return path, t
	}
	return "", nil
}

// invalid is the error for a type or a length that is not allowed in device memory. It matches
// CUDA_ERROR_INVALID_VALUE.
type invalid struct{ text string }

func (e *invalid) Error() string        { return e.text }
func (e *invalid) Is(target error) bool { return target == error(cu.CUDA_ERROR_INVALID_VALUE) }

func invalidf(format string, args ...any) error {
	return &invalid{fmt.Sprintf(format, args...)}
}

// deviceView reports whether t is View or View2D of package gpu, whose pointer is an address of
// device memory.
func deviceView(t reflect.Type) bool {
	return t.PkgPath() == "github.com/purecuda/cuda/ptx/gpu" && strings.HasPrefix(t.Name(), "View")
}
