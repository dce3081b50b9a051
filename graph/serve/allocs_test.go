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
	in, calls := ramp(8, 0), 0
	far, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	use := func(output) error { calls++; return nil }
	k.None("Call", func() { k.OK(p.Call(background, in, use)) })
	k.None("Call with a priority", func() { k.OK(p.Call(background, in, use, serve.WithPriority(3))) })
	if calls != 2*201 {
		k.Errorf("%d calls", calls)
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
	k.None("Calls that queue", func() {
		k.OK(p.Call(background, in, wait))
		for range others {
			k.OK(<-ended)
		}
	})
	if s := p.Stats(); s.MostQueued != others || s.Calls != 201*5 {
		k.Errorf("did %+v", s)
	}
}
