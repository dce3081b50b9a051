//go:build linux && (amd64 || arm64) && !static && !purecuda_syscall

package loader

const passesFloats = true

// invokeFloats: the trampolines read the kinds of the words themselves.
func invokeFloats(c *Call) uintptr { return invokeC(c) }
