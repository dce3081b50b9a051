package driver

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// elemErrors caches, by type, why its values cannot be in device memory (reflect.Type to error, nil
// if they can).
var elemErrors sync.Map

// checkElem returns nil if values of T may be in device or page-locked memory. T must have a size
// and contain no Go pointers, because the garbage collector does not look there and the GPU cannot
// follow them.
func checkElem[T any]() error { return checkElemType(reflect.TypeFor[T]()) }

func checkElemType(t reflect.Type) error {
	if k := t.Kind(); k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr {
		return nil // without a look at the table
	}
	if v, ok := elemErrors.Load(t); ok {
		err, _ := v.(error)
		return err
	}
	err := elemError(t)
	elemErrors.Store(t, err)
	return err
}

func elemError(t reflect.Type) error {
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

// elemName returns T's name for error messages and leak reports.
func elemName[T any]() string { return reflect.TypeFor[T]().String() }

// byteSize returns the size of n elements of size bytes, or an error if n is negative or too large.
func byteSize(n int, size uintptr) (uintptr, error) {
	if n < 0 {
		return 0, invalidf("negative length %d", n)
	}
	if size != 0 && uintptr(n) > maxBytes/size {
		return 0, invalidf("length %d × %d bytes does not fit the address space", n, size)
	}
	return uintptr(n) * size, nil
}

const maxBytes = ^uintptr(0) >> 1

// invalidError is a mistake in the caller's arguments that is detected before the driver sees them.
// It matches CUDA_ERROR_INVALID_VALUE, which the driver would return at best.
type invalidError struct{ text string }

func (e *invalidError) Error() string        { return e.text }
func (e *invalidError) Is(target error) bool { return target == error(CUDA_ERROR_INVALID_VALUE) }

func invalidf(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// joinClose closes what was created before a failure and returns both errors.
func joinClose(err error, made interface{ Close() error }) error {
	return errors.Join(err, made.Close())
}
