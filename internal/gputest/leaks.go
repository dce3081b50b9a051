package gputest

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
)

// CheckLeaks fails the test if, when it ends, an object of d is still open or was
// dropped without Close. Register cleanups that close objects after calling it.
func CheckLeaks(t testing.TB, d *driver.Driver) {
	t.Helper()
	cudatest.CheckLeaks(t, d)
}

// ExpectDropped runs the garbage collector until it has found count dropped objects of
// d. It returns them, so that CheckLeaks does not see them. It is for tests of the leak
// tracker itself.
func ExpectDropped(t testing.TB, d *driver.Driver, count int) []driver.Leak {
	t.Helper()
	return cudatest.ExpectDropped(t, d, count)
}
