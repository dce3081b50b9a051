package serve_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCallsAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		steady(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))))
	})
	t.Run("gpu", func(t *testing.T) { steady(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steady(k *kit) {
	k.Helper()
	p := k.pool(k.affine, serve.WithDeadlines())
	in, used := ramp(8, 0), 0
	far, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	use := func(output) error { used++; return nil }
	calls := k.None("Call", func() { k.OK(p.Call(background, in, use)) })
	calls += k.None("Call with a priority", func() { k.OK(p.Call(background, in, use, serve.WithPriority(3))) })
	if used != calls {
		k.Errorf("%d outputs of %d calls", used, calls)
	}

	// Two further calls queue while a call holds the only replica.
	const others = 2
	begin, ended := make(chan struct{}, others), make(chan error, others)
	defer close(begin)
	for i := range others {
		go func() {
			for range begin {
				ended <- p.Call(far, in, use, serve.WithPriority(i))
			}
		}()
	}
	wait := func(output) error {
		for range others {
			begin <- struct{}{}
		}
		for p.Stats().Queued < others {
			runtime.Gosched()
		}
		return nil
	}
	calls += (1 + others) * k.None("Calls that queue", func() {
		k.OK(p.Call(background, in, wait))
		for range others {
			k.OK(<-ended)
		}
	})
	if s := p.Stats(); s.MostQueued != others || s.Calls != uint64(calls) {
		k.Errorf("did %+v", s)
	}
}
