package gputest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
)

// CheckLeaks fails the test if an object of d is still open when the test ends, or became
// unreachable without Close. Call CheckLeaks before registering cleanups that close objects.
func CheckLeaks(t testing.TB, d *driver.Driver) {
	t.Helper()
	cudatest.CheckLeaks(t, d)
}

// ExpectDropped runs the garbage collector until it has found count objects of d that became
// unreachable without Close. It returns their leaks and hides them from CheckLeaks. It is meant for
// tests of the leak tracker.
func ExpectDropped(t testing.TB, d *driver.Driver, count int) []driver.Leak {
	t.Helper()
	return cudatest.ExpectDropped(t, d, count)
}
