//go:build !(linux && !static && (purecuda_syscall || !(amd64 || arm64)))

package loader_test

// A call allocates nothing: the trampoline reads the words of the block in place, so the block can
// stay on the stack.
const allocsPerCCall, allocsPerGoCall = 0.0, 0.0
