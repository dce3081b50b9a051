//go:build race

package hostile_test

// underRace reports whether the race detector is on. The race detector needs additional memory and
// makes the emulator allocate device memory on Go's heap.
const underRace = true
