//go:build !static

package loader

import "syscall"

const passesFloats = true

// invokeFloats makes one call to a C function with floating-point words. On Windows x64, an
// argument's position determines its register. SyscallN loads each of the first four words into
// both the integer and the vector register. Its second result is the value of the vector result
// register.
func invokeFloats(c *Call) uintptr {
	r, float, _ := syscall.SyscallN(c.Proc.addr, c.words()...)
	if c.N&FloatResult != 0 {
		return float
	}
	return r
}
