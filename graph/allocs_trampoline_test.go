//go:build !(linux && !static && (purecuda_syscall || !(amd64 || arm64)))

package graph_test

// The blocks of calls lie on the stack.
const allocsAllowed = 0.0
