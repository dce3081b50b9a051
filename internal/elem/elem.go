// Package elem says which Go types may be elements of device and page-locked memory, and how many
// bytes a number of elements has. Package driver and the allocators built on it share it.
package elem

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// MaxBytes is the largest number of bytes of one piece of memory.
const MaxBytes = ^uintptr(0) >> 1

// Size returns the size of a T in bytes.
func Size[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}

// Bytes returns the bytes of n elements. It returns an error if a T cannot be in device memory, or
// if n is negative or too large.
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

// refused caches, by type, why its values cannot be in device memory (reflect.Type to error, nil
// if they can).
var refused sync.Map

// Check returns nil if values of T may be in device or page-locked memory. T must have a size
// and contain no Go pointers, because the garbage collector does not look there and the GPU cannot
// follow them.
func Check[T any]() error { return CheckType(reflect.TypeFor[T]()) }

// CheckType is Check for a type that is known at run time.
func CheckType(t reflect.Type) error {
	if k := t.Kind(); k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr {
		return nil // without a look at the table
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

// goKind describes kinds of Go values that refer to Go memory.
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

// goPointer returns the path and the type of the first Go pointer in values of t, and a nil type if
// there is none.
func goPointer(t reflect.Type, path string) (string, reflect.Type) {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() == 0 {
			return "", nil
		}
		return goPointer(t.Elem(), path+"[0]")
	case reflect.Struct:
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

// invalid is a type or a length that the driver would not understand. It matches
// CUDA_ERROR_INVALID_VALUE.
type invalid struct{ text string }

func (e *invalid) Error() string        { return e.text }
func (e *invalid) Is(target error) bool { return target == error(cu.CUDA_ERROR_INVALID_VALUE) }

func invalidf(format string, args ...any) error {
	return &invalid{fmt.Sprintf(format, args...)}
}
