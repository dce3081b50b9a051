package serve_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// A call that returns its replica to a waiting call must let that call launch before its caller
// continues. With one processor, the waiting call then ends first, because the driver does nothing.
// Go's scheduler guarantees no order, so the test requires it only of most calls.
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
