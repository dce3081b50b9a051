//go:build !(linux && !static && (purecuda_syscall || !(amd64 || arm64)))

package loader_test

// The block is read where it lies.
const allocsPerCCall, allocsPerGoCall = 0.0, 0.0
