//go:build !static

package loader

import (
	"syscall"
	"unsafe"
)

// Invoke makes the call that c heads and returns its result, which it also stores in c.Ret.
// Neither the block nor what its pointers point to escapes: syscall.SyscallN reads the words in
// place.
func Invoke(c *Call) uintptr {
	return invokeSlow((*Call)(noescape(unsafe.Pointer(c))))
}

// invokeC makes one call to a C function, ignoring the scope.
func invokeC(c *Call) uintptr {
	r, _, _ := syscall.SyscallN(c.Proc.addr, c.words()...)
	return r
}

// run makes the calls of a batch, in this build with one native call each.
func (b *Batch) run(s *Scope) { b.runSlow(s) }
