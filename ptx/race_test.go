//go:build race

package ptx_test

// raceSlack: what the race detector costs depends on the text.
const raceSlack = 5
