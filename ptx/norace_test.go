//go:build !race

package ptx_test

const raceSlack = 1
