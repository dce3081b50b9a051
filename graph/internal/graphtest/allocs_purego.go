//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package graphtest

// Argument blocks and the memory they point to are on the heap. Each driver call and each query of
// the current context makes up to two allocations. Most steps of the tests make at most twenty of
// these, which is two calls of a Callable.
const (
	AllocsAllowed = 40.0
	AllocsPerCall = 4.0 // including its query of the current context
)
