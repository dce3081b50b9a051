package gputest

import (
	"runtime"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
)

// patience is how long the collector may take to find what was dropped.
const patience = 20 * time.Second

func waitDropped(t testing.TB, d *driver.Driver, count int) []driver.Leak {
	t.Helper()
	var found []driver.Leak
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		runtime.GC()
		found = append(found, takeDropped(d)...)
		if len(found) >= count {
			return found
		}
	}
	t.Errorf("the collector found %d dropped objects, expected %d", len(found), count)
	return found
}
