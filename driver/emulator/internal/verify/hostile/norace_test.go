//go:build !race

package hostile_test

// underRace reports whether the race detector is on. The race detector needs additional memory.
// With it, the emulator allocates device memory on Go's heap.
const underRace = false
