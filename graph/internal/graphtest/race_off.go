//go:build !race

package graphtest

const RaceDetector = false
