//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package graphtest

// AllocsAllowed is enough for twenty driver calls or queries of the current context, which two
// calls of a Callable make. Each of them makes up to two allocations, because argument blocks and
// the memory they point to are on the heap.
const (
	AllocsAllowed = 40.0
	AllocsPerCall = 4.0 // including its query of the current context
)
