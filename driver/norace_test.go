//go:build !race

package driver_test

// lostPooled is what a call may allocate beyond what it is held to: under the race
// detector a sync.Pool forgets some of what it is given, on purpose.
const lostPooled = 0
