package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
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
// failures, until Close. Every call must return once, with the right output or an expected error, and
// the Stats must count it. No goroutine, thread, buffer or graph may remain.
//
//	PURECUDA_SERVE_SOAK_TIME=60s go test -v -race -run TestSoak$ ./graph/serve
func TestSoak(t *testing.T) {
	callers, span := 1000, 2*time.Second
	if testing.Short() {
		callers, span = 200, time.Second/2
	}
	if d, err := time.ParseDuration(os.Getenv(SoakTime)); err == nil {
		callers, span = 1000, d
	}
	each(t, func(k *kit) {
		goroutines, before, open := runtime.NumGoroutine(), threads(t), len(driver.OpenObjects())
		s := &soak{kit: k, bound: callers / 4}
		var err error
		s.pool, err = serve.New(k.C, k.greedy, [][]uint32{ramp(8, 0), ramp(3, 0)}, serve.WithReplicas(2),
			serve.WithGrowth(4, 1), serve.WithQueue(s.bound), serve.WithDeadlines())
		k.OK(err)
		stop := make(chan struct{})
		var wg, checks sync.WaitGroup
		checks.Go(func() {
			for {
				k.OK(s.pool.Check())
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
		for i := range callers {
			wg.Go(func() { s.caller(rand.New(rand.NewPCG(1, uint64(i)))) })
		}
		time.Sleep(span)
		k.OK(s.pool.Close()) // while callers still make calls
		wg.Wait()
		close(stop)
		checks.Wait()
		st := s.pool.Stats()
		if st.MostQueued > s.bound || st.Queued != 0 || st.Busy != 0 || st.Calls != s.right.Load() || st.Replicas > 4 {
			t.Errorf("did %+v, %d calls were right", st, s.right.Load())
		}
		if st.Calls == 0 {
			t.Error("no call succeeded")
		}
		s.account(st)
		k.Eventually("the end of all goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
		k.Eventually("the end of all objects", func() bool { return len(driver.OpenObjects()) <= open })
		after := threads(t)
		t.Logf("threads: %d before, %d after", before, after)
		if after > before+threadsAllowed {
			t.Errorf("%d threads before, %d after", before, after)
		}
	})
}

// threadsAllowed is the number of additional threads that the process may have after a soak. Go
// never ends an idle thread, and starts another one while a goroutine is in a long native call.
// Only the calls that run on replicas can be in native calls at the same time, and the driver has
// its own threads. If each call or each caller left a thread behind, there would be hundreds.
const threadsAllowed = 40

// threads returns the number of threads of the process, or 0 if it is not known.
func threads(t *testing.T) (n int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0 // the system is not Linux
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "Threads: %d", &n); err == nil {
			return n
		}
	}
	t.Error("/proc/self/status has no line with the number of threads")
	return 0
}

// account compares the errors that callers got with the Stats, and logs them.
func (s *soak) account(st serve.Stats) {
	s.Helper()
	sum := uint64(0)
	for _, c := range []struct {
		what       string
		got, count uint64
	}{
		{"the right output", s.right.Load(), st.Calls},
		{"BusyError", s.busy.Load(), st.Refused.Busy},
		{"ErrTooLate", s.late.Load(), st.Refused.TooLate},
		{"the cause of its context", s.cancelled.Load(), st.CancelledQueued + st.CancelledRunning},
		{"out of memory, injected by its input", s.failed.Load(), st.Failed},
		{"ErrClosed", s.closed.Load(), st.Refused.Closed},
	} {
		sum += c.got
		s.Logf("%9d calls returned %s", c.got, c.what)
		if c.got != c.count {
			s.Errorf("%d calls returned %s, the Stats count %d", c.got, c.what, c.count)
		}
	}
	s.Logf("%9d calls; longest queue %d of %d; %d replicas rebuilt, %d grown", s.began.Load(), st.MostQueued, s.bound, st.Rebuilt, st.Grown)
	if began := s.began.Load(); sum != began {
		s.Errorf("%d calls began, %d returned an expected error or none", began, sum)
	}
}

type soak struct {
	*kit
	*pool
	bound int

	began, right, busy, late, cancelled, failed, closed atomic.Uint64 // calls and their results
}

// caller makes calls until the pool is closed.
func (s *soak) caller(r *rand.Rand) {
	for {
		ctx, cancel := s.context(r)
		n := []int{8, 8, 8, 3, 5}[r.IntN(5)]
		if r.IntN(100) == 0 {
			n = 1 // this input breaks the replica
		}
		in := ramp(n, r.Uint32N(1000))
		used := 0
		s.began.Add(1)
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
		case err == nil:
		case errors.Is(err, serve.ErrTooLate):
			s.late.Add(1)
		case errors.As(err, &busy):
			s.busy.Add(1)
			if busy.Waiting != s.bound {
				s.Errorf("refused with %d of %d in the queue", busy.Waiting, s.bound)
			}
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond) // back off, as clients do
		case errors.Is(err, driver.ErrClosed):
			s.closed.Add(1)
			return
		case errors.Is(err, errEnough), errors.Is(err, context.DeadlineExceeded):
			s.cancelled.Add(1)
			if !ended {
				s.Errorf("cancelled although its context has not ended: %v", err)
			}
		case errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) && n == 1:
			s.failed.Add(1)
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
