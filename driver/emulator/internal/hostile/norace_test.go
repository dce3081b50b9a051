//go:build !race

package hostile_test

// underRace reports whether the race detector is on. The race detector uses memory of its own, and
// under it device memory is allocated on Go's heap.
const underRace = false
