package serve_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

// Many callers use a small Batcher with random priorities, deadlines, cancellations, shapes and
// panics, until Close. Every call must return once, with the right output or a known error.
// Afterwards no object may be open.
func TestBatcherSoak(t *testing.T) {
	callers, span := 500, 2*time.Second
	if testing.Short() {
		callers, span = 100, time.Second/4
	}
	if d, err := time.ParseDuration(os.Getenv(SoakTime)); err == nil {
		callers, span = 1000, d
	}
	for _, window := range []time.Duration{0, 200 * time.Microsecond} {
		t.Run(window.String(), func(t *testing.T) {
			each(t, func(k *kit) { soakBatcher(k, callers, span, window) })
		})
	}
}

func soakBatcher(k *kit, callers int, span, window time.Duration) {
	const most = 8
	goroutines, open := runtime.NumGoroutine(), len(driver.OpenObjects())
	bound := callers / 4
	b, err := serve.NewBatcher(k.C, k.rows, ramp(width, 0), serve.WithBatch(most, window), serve.WithReplicas(2),
		serve.WithGrowth(3, 1), serve.WithQueue(bound), serve.WithDeadlines())
	k.OK(err)
	var right atomic.Uint64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			c := &batchCaller{k, b, rand.New(rand.NewPCG(2, uint64(i)))}
			for c.call(&right) {
			}
		})
	}
	time.Sleep(span)
	k.OK(b.Close()) // while callers still make calls
	wg.Wait()
	s := b.Stats()
	if s.Queued != 0 || s.Busy != 0 || s.Calls != right.Load() || s.Replicas > 3 || s.MostQueued > bound+3*most {
		k.Errorf("did %+v, %d calls were right", s, right.Load())
	}
	if s.Calls == 0 || s.Failed == 0 {
		k.Error("no call succeeded, or none failed")
	}
	k.Logf("%+v", s)
	k.Eventually("the end of all goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	k.Eventually("the end of all objects", func() bool { return len(driver.OpenObjects()) <= open })
}

type batchCaller struct {
	*kit
	b *batcher
	r *rand.Rand
}

// call makes one call. It returns false after Close.
func (c *batchCaller) call(right *atomic.Uint64) bool {
	r := c.r
	ctx, cancel := (&soak{}).context(r)
	n := width
	if r.IntN(50) == 0 {
		n = 1 // an input of another shape
	}
	in := ramp(n, r.Uint32N(1000))
	used, panics := 0, r.IntN(50) == 0
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil && !panics {
				c.Errorf("panic: %v", v)
			}
		}()
		return c.b.Call(ctx, in, func(out output, i int) error {
			used++
			right.Add(1)
			if panics {
				panic("of use")
			}
			return checkedRow(in)(out, i)
		}, serve.WithPriority(r.IntN(3)))
	}()
	over := ctx.Err() != nil
	cancel()
	clear(in) // no goroutine may still read the input
	if err == nil && used != 1 || err != nil && used != 0 {
		c.Errorf("an output was used %d times, the error is %v", used, err)
	}
	switch {
	case err == nil, errors.Is(err, serve.ErrTooLate):
	case errors.Is(err, serve.ErrBusy):
		time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond) // back off, as clients do
	case errors.Is(err, driver.ErrClosed):
		return false
	case errors.Is(err, errEnough), errors.Is(err, context.DeadlineExceeded):
		if !over {
			c.Errorf("cancelled although its context has not ended: %v", err)
		}
	case errors.Is(err, serve.ErrShape) && n == 1:
	default:
		c.Errorf("a call returned %v", err)
		return false
	}
	return true
}

func TestBatchedCallsAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		steadyBatches(newKit(t, gputest.Context(t, gputest.Driver(t, new(graphtest.NullCapture)))))
	})
	t.Run("gpu", func(t *testing.T) { steadyBatches(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyBatches(k *kit) {
	k.Helper()
	in, used := ramp(width, 0), atomic.Int64{}
	use := func(output, int) error { used.Add(1); return nil }
	far, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	b := k.batcher(k.rows, serve.WithBatch(4, 0), serve.WithDeadlines())
	calls := k.None("Call", func() { k.OK(b.Call(background, in, use)) })
	calls += k.None("Call with a deadline", func() { k.OK(b.Call(far, in, use)) })
	calls += k.None("Call with a priority", func() { k.OK(b.Call(far, in, use, serve.WithPriority(3))) })
	if n, done := used.Load(), b.Stats().Calls; n != int64(calls) || done != uint64(calls) {
		k.Errorf("%d outputs of %d calls, of which %d are counted", n, calls, done)
	}
	// Other goroutines call at the same time. The first batch is full, the second ends its window.
	const others = 3
	for window, most := range map[time.Duration]int{time.Hour: others + 1, 100 * time.Microsecond: 16} {
		b := k.batcher(k.rows, serve.WithBatch(most, window), serve.WithBatchSizes(4))
		begin, ended := make(chan struct{}, others), make(chan error, others)
		for range others {
			go func() {
				for range begin {
					ended <- b.Call(far, in, use)
				}
			}()
		}
		batches := k.None("Batches", func() {
			for range others {
				begin <- struct{}{}
			}
			k.OK(b.Call(background, in, use))
			for range others {
				k.OK(<-ended)
			}
		})
		close(begin)
		if s := b.Stats(); s.Calls != uint64(batches*(others+1)) || window == time.Hour && s.Batches() != uint64(batches) {
			k.Errorf("did %+v", s)
		}
	}
}
