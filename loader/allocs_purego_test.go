//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package loader_test

// The block and everything that it points to escape to the heap. purego also allocates.
const allocsPerCCall, allocsPerGoCall = 3.0, 2.0
