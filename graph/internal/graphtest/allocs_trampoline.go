//go:build !(linux && !static && (purecuda_syscall || !(amd64 || arm64)))

package graphtest

// Argument blocks are on the stack.
const (
	AllocsAllowed = 0.0
	AllocsPerCall = 0.0
)
