//go:build race

package emulator_test

// underRace: the race detector keeps memory of its own, and device memory lies on
// Go's heap.
const underRace = true
