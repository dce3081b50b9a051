//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package loader_test

// A call allocates: the block and everything that it points to escape to the heap, and purego
// allocates memory itself.
const allocsPerCCall, allocsPerGoCall = 3.0, 2.0
