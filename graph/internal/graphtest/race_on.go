//go:build race

package graphtest

// With the race detector, sync.Pool drops items at random, so allocation counts are meaningless.
const RaceDetector = true
