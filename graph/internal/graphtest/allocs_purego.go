//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package graphtest

// The blocks of calls and what they point at go to the heap: up to two
// allocations for each call of the driver and for each look at the current
// context. Most steps of the tests have twenty of these at most: two calls of a
// Callable.
const (
	AllocsAllowed = 40.0
	AllocsPerCall = 4.0 // with its look at the current context
)
