//go:build !(linux && !static && (purecuda_syscall || !(amd64 || arm64)))

package loader_test

// The trampoline reads the block in place.
const allocsPerCCall, allocsPerGoCall = 0.0, 0.0
