package demotest

import "testing"

// stride returns the distance between the calls that fail. With -short, which is used with the race
// detector and on emulated systems, only some calls fail, because testing all calls would take
// minutes. The first call of each function always fails.
func stride() int {
	if testing.Short() {
		return 30
	}
	return 1
}
