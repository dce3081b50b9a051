package gputest_test

import (
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

var sink *[16]byte

func TestAllocsAreThoseOfEachMeasurement(t *testing.T) {
	if n := gputest.Allocs(10, func() { sink = new([16]byte) }); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
	calls := 0
	if n := gputest.Allocs(10, func() {
		if calls++; calls <= 22 { // two measurements of 10 calls and one more
			sink = new([16]byte)
		}
	}); n != 0 {
		t.Errorf("%v allocations, but the third measurement has none", n)
	}
}
