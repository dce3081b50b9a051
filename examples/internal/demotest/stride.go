package demotest

import "testing"

// stride returns the distance between the calls that fail. With -short, as under the race
// detector and on emulated systems, only some calls fail, because all of them would take
// minutes. The first call of each function always fails.
func stride() int {
	if testing.Short() {
		return 30
	}
	return 1
}
