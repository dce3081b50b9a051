package serve_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// When a call returns its replica to a waiting call, the waiting call must launch before the first
// call's caller continues. With one processor and a driver that does nothing, the waiting call then
// ends first. Go's scheduler guarantees no order, so the test requires this only of most calls.
func TestWaitingCallLaunchesBeforeTheCallerContinues(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture))))
	p := k.pool(k.affine)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 100
	in, first := ramp(8, 0), 0
	for range rounds {
		var waited atomic.Bool
		ended := make(chan error, 1)
		k.OK(p.Call(background, in, func(output) error {
			go func() { ended <- p.Call(background, in, func(output) error { waited.Store(true); return nil }) }()
			for p.Stats().Queued == 0 {
				runtime.Gosched()
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
