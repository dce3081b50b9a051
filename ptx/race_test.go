//go:build race

package ptx_test

// raceSlack is generous, because the overhead of the race detector depends on the module.
const raceSlack = 5
