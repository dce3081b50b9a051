//go:build linux && (amd64 || arm64) && !static && !purecuda_syscall

package loader

import (
	"unsafe"

	_ "github.com/ebitengine/purego" // makes runtime.cgocall usable without cgo
)

// The addresses of the C-ABI routines in trampoline_GOARCH.s.
var trampoline, batchTrampoline uintptr

//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// Invoke makes the call of the block that begins with c. It returns the result, and also stores it in
// c.Ret. Neither the block nor the memory that it points to escapes.
func Invoke(c *Call) uintptr {
	if p := c.Proc; p.addr != 0 && (c.Scope == nil || c.Scope.native) {
		cgocall(trampoline, unsafe.Pointer(c))
		return c.Ret
	}
	return invokeSlow((*Call)(noescape(unsafe.Pointer(c))))
}

// invokeC makes one call to a C function. It ignores the scope.
func invokeC(c *Call) uintptr {
	scope := c.Scope
	c.Scope = nil
	cgocall(trampoline, unsafe.Pointer(c))
	c.Scope = scope
	return c.Ret
}

// run makes the calls of a batch in a single native call if all of them are C functions.
func (b *Batch) run(s *Scope) {
	if b.goes || s != nil && !s.native {
		b.runSlow(s)
		return
	}
	b.head.scope = s
	cgocall(batchTrampoline, unsafe.Pointer(&b.head))
}

const passesFloats = true

// invokeFloats makes an ordinary C call, because the trampolines handle floating-point words.
func invokeFloats(c *Call) uintptr { return invokeC(c) }
