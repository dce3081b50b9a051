//go:build !windows

package kernelfault

import (
	"errors"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// openStandardOutput finds stdout in the C library that the driver uses. The library stays open.
func openStandardOutput() *file {
	f := &file{}
	libc, err := loader.Open("libc.so.6")
	if err != nil {
		return f
	}
	fflush, err1 := libc.Lookup("fflush")
	stdout, err2 := libc.Lookup("stdout")
	if errors.Join(err1, err2) != nil {
		return f
	}
	variable := stdout.Addr()
	f.at = func() uintptr { return **(**uintptr)(unsafe.Pointer(&variable)) }
	f.fflush = fflush
	return f
}
