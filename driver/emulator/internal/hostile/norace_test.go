//go:build !race

package hostile_test

// underRace reports whether the race detector is on. It uses memory of its own, and device memory
// then lies on Go's heap.
const underRace = false
