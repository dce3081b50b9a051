//go:build !race

package example

const raceDetector = false
