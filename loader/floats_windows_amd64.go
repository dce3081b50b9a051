//go:build !static

package loader

import "syscall"

const passesFloats = true

// invokeFloats makes one call to a C function with floating-point words. On x64 an
// argument's number decides its register, and SyscallN loads the integer and the
// vector register of each of the first four. Its second result is the vector register.
func invokeFloats(c *Call) uintptr {
	r, float, _ := syscall.SyscallN(c.Proc.addr, c.words()...)
	if c.N&FloatResult != 0 {
		return float
	}
	return r
}
