package gputest

import (
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
)

// dropped collects what the garbage collector found, of all drivers: the hook
// is one for the process, tests are many.
var dropped struct {
	sync.Mutex
	once  sync.Once
	leaks []driver.Leak
}

func watch() {
	dropped.once.Do(func() {
		driver.SetLeakHook(func(l driver.Leak) {
			dropped.Lock()
			defer dropped.Unlock()
			dropped.leaks = append(dropped.leaks, l)
		})
	})
}

// CheckLeaks fails the test if, when it ends, an object of d is still open or
// was dropped without being closed. Cleanups that close objects must be
// registered after it.
func CheckLeaks(t testing.TB, d *driver.Driver) {
	t.Helper()
	watch()
	t.Cleanup(func() {
		for _, l := range stillOpen(d) {
			t.Errorf("leak: %v", l)
		}
		for _, l := range takeDropped(d) {
			t.Errorf("leak: %v", l)
		}
	})
}

// stillOpen lists the open objects of d. It waits a little for those that are
// closed but held by a goroutine of the library, as after a cancelled wait.
func stillOpen(d *driver.Driver) []driver.Leak {
	for end := time.Now().Add(grace); ; time.Sleep(time.Millisecond) {
		var mine []driver.Leak
		for _, l := range driver.OpenObjects() {
			if l.Device.Driver() == d {
				mine = append(mine, l)
			}
		}
		if len(mine) == 0 || time.Now().After(end) {
			return mine
		}
	}
}

// grace is how long a goroutine of the library may take to let go.
const grace = 2 * time.Second

// ExpectDropped runs the collector until count objects of d were found dropped
// and returns them, so that CheckLeaks does not see them: for tests of the
// leak tracker itself.
func ExpectDropped(t testing.TB, d *driver.Driver, count int) []driver.Leak {
	t.Helper()
	return waitDropped(t, d, count)
}

func takeDropped(d *driver.Driver) []driver.Leak {
	dropped.Lock()
	defer dropped.Unlock()
	var mine, others []driver.Leak
	for _, l := range dropped.leaks {
		if l.Device.Driver() == d {
			mine = append(mine, l)
		} else {
			others = append(others, l)
		}
	}
	dropped.leaks = others
	return mine
}
