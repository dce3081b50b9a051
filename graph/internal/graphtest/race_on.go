//go:build race

package graphtest

// With the race detector, sync.Pool drops items on purpose, so counts of allocations mean
// nothing.
const RaceDetector = true
