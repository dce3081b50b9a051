//go:build linux && !static && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)

package loader

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// The C library keeps the reason for a failure per thread, and purego reads it in a second call.
// So the goroutine must stay on its thread between the two.

// dlopen does not share the library's symbols with other libraries (RTLD_LOCAL).
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
