//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package loader_test

// The block and what it points to escape to the heap, and purego allocates too.
const allocsPerCCall, allocsPerGoCall = 3.0, 2.0
