//go:build race

package driver_test

// lostPooled is how many allocations a call may make beyond its limit. Under the
// race detector, a sync.Pool deliberately drops some of its objects.
const lostPooled = 2
