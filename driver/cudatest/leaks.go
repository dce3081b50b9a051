package cudatest

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// dropped holds the dropped objects that the garbage collector has found. All drivers share it,
// because the process has only one leak hook.
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

// CheckLeaks fails the test if an object of d is still open at the end, or was dropped without
// being closed. Cleanups that close objects must be registered after this call. Drivers from this
// package are already checked. CheckLeaks replaces the hook of driver.SetLeakHook.
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

// grace is how long stillOpen waits for library goroutines that retain closed objects.
const grace = 2 * time.Second

// stillOpen returns the open objects of d. It waits briefly for closed objects that a library
// goroutine still retains, for example after a cancelled wait.
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

// patience is how long ExpectDropped waits for the garbage collector to find dropped objects.
const patience = 20 * time.Second

// ExpectDropped is for tests that drop objects on purpose. It runs the garbage collector until it
// has found count objects of d that were dropped without Close, and returns them. CheckLeaks does
// not report these objects.
func ExpectDropped(t testing.TB, d *driver.Driver, count int) []driver.Leak {
	t.Helper()
	if d.Version() == 0 { // nil or zero: nothing would ever be found
		t.Errorf("there is no driver whose objects could be dropped: use the one of a cudatest.Context")
		return nil
	}
	var found []driver.Leak
	wait := time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(wait) {
		wait = min(2*wait, 100*time.Millisecond) // a constant short wait would keep a core busy
		runtime.GC()
		found = append(found, takeDropped(d)...)
		if len(found) >= count {
			return found
		}
	}
	t.Errorf("the collector found %d dropped objects, expected %d", len(found), count)
	return found
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

// reportLeaks reports leaks that only the emulator can detect: objects created by raw functions,
// which have no Go owner.
func reportLeaks(t testing.TB, e *emulator.Emulator) {
	t.Helper()
	for _, l := range e.Leaks() {
		t.Errorf("leak in the emulator: %v", l)
	}
}
