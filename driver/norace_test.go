//go:build !race

package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// lostPooled is the number of extra allocations that a test must tolerate because a sync.Pool drops
// objects. Without the race detector, no objects are dropped.
const lostPooled = 0

// Creating a view allocates two objects: the view and the scope for its calls.
func TestAViewIsTwoAllocations(t *testing.T) {
	d := must(driver.New(emulator.New(emulator.Config{})))(t)
	defer d.Close()
	var view *driver.Driver
	for name, newView := range map[string]func(){
		"bound":   func() { view = d.Bound(1) },
		"guarded": func() { view = d.Guarded() },
	} {
		if n := gputest.Allocs(2, 100, newView); n != 2 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if view == d || view.Library() != d.Library() {
		t.Error("the view is not one of the driver")
	}
}
