//go:build linux && !static && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)

package loader

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// The C library stores the reason for a failure per thread, and purego reads the reason in a second
// call. The goroutine must therefore stay on its thread between the two calls.

// dlopen opens a library without sharing its symbols with other libraries (RTLD_LOCAL).
func dlopen(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(handle uintptr, symbol string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, symbol)
}

func dlclose(handle uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlclose(handle)
}
