package gputest_test

import (
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

var sink *[16]byte

func TestAllocsAreThoseOfTheBestMeasurement(t *testing.T) {
	const each = 10 + 1 // calls of a measurement
	for _, c := range []struct {
		most        float64
		allocating  int // the number of calls that allocate
		want        float64
		wantedCalls int
	}{
		{0, 1000, 1, 3 * each},
		{1, 1000, 1, each},
		{0, 2 * each, 0, 3 * each},
		{0, 0, 0, each},
	} {
		calls := 0
		n := gputest.Allocs(c.most, each-1, func() {
			if calls++; calls <= c.allocating {
				sink = new([16]byte)
			}
		})
		if n != c.want || calls != c.wantedCalls {
			t.Errorf("%+v: %v allocations, %d calls", c, n, calls)
		}
	}
}
