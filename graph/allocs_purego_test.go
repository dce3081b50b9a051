//go:build linux && !static && (purecuda_syscall || !(amd64 || arm64))

package graph_test

// The blocks of calls and what they point at go to the heap: up to two
// allocations for each call of the driver and for each look at the current
// context, of which no step of the tests has more than twenty: two calls of a
// Callable.
const allocsAllowed = 40.0
