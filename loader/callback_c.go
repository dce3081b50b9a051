//go:build !static && (windows || (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)))

package loader

import "github.com/ebitengine/purego"

func newCallback(fn Callback) uintptr {
	// Windows requires the callback to return a result. A C caller of a void function ignores it.
	return purego.NewCallback(func(userData uintptr) uintptr {
		callApart(fn, userData)
		return 0
	})
}
