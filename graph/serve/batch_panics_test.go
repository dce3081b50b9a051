package serve_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
)

// The function panics while a replica is created again. The calls that wait get the panic, and the
// next call creates the replica.
func TestPanicWhileAReplicaIsCreatedAgain(t *testing.T) {
	k, lib, _ := faultyKit(t)
	var act atomic.Pointer[func()]
	b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
		if do := act.Load(); do != nil {
			(*do)()
		}
		return k.rows(t)
	}, serve.WithBatch(2, time.Hour), serve.WithBatchSizes(2))
	pair := func() [2]error {
		results := append(k.join(background, b, 1, 0), joined(background, b, 0, ramp(width, 5)))
		return [2]error{<-results[0], <-results[1]}
	}
	for _, do := range []func(){func() { panic("mine") }, runtime.Goexit} {
		lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
		for _, err := range pair() {
			if !errors.Is(err, graphtest.Injected) {
				t.Errorf("got %v", err)
			}
		}
		lib.Stop()
		act.Store(&do)
		var p *serve.PanicError
		if err := batched(background, b, ramp(width, 1)); !errors.As(err, &p) { // fails without waiting until the window ends
			t.Errorf("got %v", err)
		}
		act.Store(nil)
		for _, err := range pair() {
			k.OK(err)
		}
	}
	if s := b.Stats(); s.Failed != 6 || s.Calls != 4 || s.Rebuilt != 2 || s.Busy != 0 || s.Queued != 0 {
		t.Errorf("did %+v", s)
	}
}

// A Batcher must not retain the inputs of calls that have ended.
func TestInputsAreNotRetained(t *testing.T) {
	each(t, func(k *kit) {
		b := k.batcher(k.rows)
		call := func() weak.Pointer[uint32] {
			in := ramp(64, 1)[:width]
			k.OK(batched(background, b, in))
			return weak.Make(&in[0])
		}
		in := call()
		k.Eventually("the end of the input", func() bool {
			runtime.GC()
			return in.Value() == nil
		})
	})
}
