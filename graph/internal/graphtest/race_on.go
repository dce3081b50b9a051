//go:build race

package graphtest

// The race detector has sync.Pool lose things on purpose, so that counts of
// allocations mean nothing.
const RaceDetector = true
