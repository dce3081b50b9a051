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
	"github.com/purecuda/cuda/graph/serve"
)

// SoakTime names the environment variable that sets the duration of TestSoak, such as 60s.
const SoakTime = "PURECUDA_SERVE_SOAK_TIME"

var errEnough = errors.New("enough")

// Many callers use a small pool with random priorities, deadlines, cancellations, shapes and
// failures, until Close. Every call must return once, with the right output or an expected error.
// No object may be left open.
func TestSoak(t *testing.T) {
	callers, span := 1000, 2*time.Second
	if testing.Short() {
		callers, span = 200, time.Second/2
	}
	if d, err := time.ParseDuration(os.Getenv(SoakTime)); err == nil {
		callers, span = 1000, d
	}
	each(t, func(k *kit) {
		goroutines, open := runtime.NumGoroutine(), len(driver.OpenObjects())
		s := &soak{kit: k, bound: callers / 4}
		var err error
		s.pool, err = serve.New(k.C, k.greedy, [][]uint32{ramp(8, 0), ramp(3, 0)}, serve.WithReplicas(2),
			serve.WithGrowth(4, 1), serve.WithQueue(s.bound), serve.WithDeadlines())
		k.OK(err)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { s.caller(rand.New(rand.NewPCG(1, uint64(i)))) })
		}
		time.Sleep(span)
		k.OK(s.pool.Close()) // while callers still make calls
		wg.Wait()
		st := s.pool.Stats()
		if st.MostQueued > s.bound || st.Queued != 0 || st.Busy != 0 || st.Calls != s.right.Load() || st.Replicas > 4 {
			t.Errorf("did %+v, %d calls were right", st, s.right.Load())
		}
		if st.Calls == 0 {
			t.Error("no call succeeded")
		}
		t.Logf("%+v", st)
		k.Eventually("the end of all goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
		k.Eventually("the end of all objects", func() bool { return len(driver.OpenObjects()) <= open })
	})
}

type soak struct {
	*kit
	*pool
	bound int
	right atomic.Uint64
}

// caller makes calls until the pool is closed.
func (s *soak) caller(r *rand.Rand) {
	for {
		ctx, cancel := s.context(r)
		n := []int{8, 8, 8, 3, 5}[r.IntN(5)]
		if r.IntN(100) == 0 {
			n = 1 // breaks the replica
		}
		in := ramp(n, r.Uint32N(1000))
		used := 0
		err := s.pool.Call(ctx, in, func(out output) error {
			used++
			return checked(in)(out)
		}, serve.WithPriority(r.IntN(3)))
		ended := ctx.Err() != nil
		cancel()
		if err == nil {
			s.right.Add(1)
		}
		if (err == nil) != (used == 1) || used > 1 {
			s.Errorf("an output was used %d times, the error is %v", used, err)
		}
		var busy *serve.BusyError
		switch {
		case err == nil, errors.Is(err, serve.ErrTooLate):
		case errors.As(err, &busy):
			if busy.Waiting != s.bound {
				s.Errorf("refused with %d of %d in the queue", busy.Waiting, s.bound)
			}
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond) // clients back off
		case errors.Is(err, driver.ErrClosed):
			return
		case errors.Is(err, errEnough), errors.Is(err, context.DeadlineExceeded):
			if !ended {
				s.Errorf("cancelled although its context has not ended: %v", err)
			}
		case errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) && n == 1:
		default:
			s.Errorf("a call returned %v", err)
			return
		}
	}
}

// context returns a context with a random end: a timeout, a cancellation, or none.
func (s *soak) context(r *rand.Rand) (context.Context, func()) {
	after := time.Duration(r.IntN(20000)) * time.Microsecond
	switch r.IntN(4) {
	case 0:
		return context.WithTimeout(background, after)
	case 1:
		ctx, cancel := context.WithCancelCause(background)
		timer := time.AfterFunc(after, func() { cancel(errEnough) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
	return background, func() {}
}
