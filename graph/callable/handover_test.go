package callable_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// When a call ends, a waiting call must launch before the first call's caller continues. With one
// processor and a driver that does nothing, the waiting call then ends first. Go's scheduler
// guarantees no order, so the test requires this only of most calls.
func TestWaitingCallLaunchesBeforeTheCallerContinues(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture))))
	c := made(k, k.several(1), []affine{{ramp(elems, 0), 1, 1}})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 100
	in, first := affine{ramp(elems, 0), 1, 1}, 0
	type output = *driver.HostBuffer[uint32]
	for range rounds {
		var waited atomic.Bool
		ended := make(chan error, 1)
		k.OK(c.CallWith(background, in, func(output) error {
			go func() { ended <- c.CallWith(background, in, func(output) error { waited.Store(true); return nil }) }()
			for range 10 {
				runtime.Gosched() // until the other call is waiting
			}
			return nil
		}))
		if waited.Load() {
			first++
		}
		k.OK(<-ended)
	}
	if first < rounds/2 {
		t.Errorf("only %d of %d waiting calls went first", first, rounds)
	}
}
