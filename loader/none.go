//go:build static || !(windows || (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)))

package loader

import "unsafe"

func newCallback(Callback) uintptr { return 0 }

// dlopen returns the reason why this build cannot open libraries.
func dlopen(string) (uintptr, error) {
	if staticBuild {
		return 0, ErrStatic
	}
	return 0, ErrUnsupportedPlatform
}

func dlsym(uintptr, string) (uintptr, error) { return 0, ErrSymbolNotFound }

func dlclose(uintptr) error { return nil }

// Invoke makes the call of the block that begins with c. It returns the result, and also stores it in
// c.Ret. This build can call only Go functions.
func Invoke(c *Call) uintptr {
	return invokeSlow((*Call)(noescape(unsafe.Pointer(c))))
}

// invokeC is never reached, because C addresses do not exist without a dynamic loader.
func invokeC(*Call) uintptr { return Missing }

func (b *Batch) run(s *Scope) { b.runSlow(s) }
