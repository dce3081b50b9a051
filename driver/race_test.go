//go:build race

package driver_test

// lostPooled is the number of extra allocations that a test must tolerate. Under the race detector,
// a sync.Pool randomly drops some of its objects.
const lostPooled = 2
