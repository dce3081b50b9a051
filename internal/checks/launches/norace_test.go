//go:build !race

package launches_test

const raceDetector = false
