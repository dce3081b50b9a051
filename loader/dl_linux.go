//go:build linux && !static && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)

package loader

import "github.com/ebitengine/purego"

// dlopen keeps the library's symbols to itself (RTLD_LOCAL).
func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(handle uintptr, symbol string) (uintptr, error) { return purego.Dlsym(handle, symbol) }

func dlclose(handle uintptr) error { return purego.Dlclose(handle) }
