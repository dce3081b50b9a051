//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64)) && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)

package loader

import "github.com/ebitengine/purego"

// Invoke makes the call of the block that begins with c. It returns the result, and also stores it in
// c.Ret. In this build, the block escapes to the heap: purego copies the words of the block before
// the native call begins, and a stack could move in between.
func Invoke(c *Call) uintptr {
	return invokeSlow(c)
}

// invokeC makes one call to a C function. It ignores the scope.
func invokeC(c *Call) uintptr {
	r, _, _ := purego.SyscallN(c.Proc.addr, c.words()...)
	return r
}

// run makes the calls of a batch. In this build, each call is a separate native call.
func (b *Batch) run(s *Scope) { b.runSlow(s) }
