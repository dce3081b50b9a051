//go:build race

package graph_test

// The race detector has sync.Pool lose things on purpose, so that counts of
// allocations mean nothing.
const raceDetector = true
