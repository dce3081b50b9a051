package demotest

import "testing"

// stride is how many calls there are from one that fails to the next. With -short,
// as under the race detector and where the system is emulated, all of them would
// take minutes. The first call of each function always fails.
func stride() int {
	if testing.Short() {
		return 30
	}
	return 1
}
