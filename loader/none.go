//go:build static || !(windows || (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)))

package loader

import "unsafe"

func newCallback(Callback) uintptr { return 0 }

// dlopen returns the reason why nothing can be opened.
func dlopen(string) (uintptr, error) {
	if staticBuild {
		return 0, ErrStatic
	}
	return 0, ErrUnsupportedPlatform
}

func dlsym(uintptr, string) (uintptr, error) { return 0, ErrSymbolNotFound }

func dlclose(uintptr) error { return nil }

// Invoke makes the call that c heads and returns its result, which it also stores in c.Ret. This
// build has Go functions only.
func Invoke(c *Call) uintptr {
	return invokeSlow((*Call)(noescape(unsafe.Pointer(c))))
}

// invokeC is never reached: without a dynamic loader there are no C addresses.
func invokeC(*Call) uintptr { return Missing }

// run makes the calls of a batch.
func (b *Batch) run(s *Scope) { b.runSlow(s) }
