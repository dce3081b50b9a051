//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package loader_test

// The block and everything it points to escape to the heap. purego allocates as well.
const allocsPerCCall, allocsPerGoCall = 3.0, 2.0
