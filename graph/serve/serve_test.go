package serve_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
)

func TestCallersGetTheirOwnResults(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine, serve.WithReplicas(4))
		var wg sync.WaitGroup
		for g := range uint32(16) {
			wg.Go(func() {
				for i := range uint32(30) {
					if err := call(background, p, ramp(6+int(g%3), 1000*g+i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		s := p.Stats()
		if s.Calls != 480 || s.Busy != 0 || s.Queued != 0 || s.Replicas != 4 || s.MostQueued > 12 || s.MeanCall <= 0 || s.Failed+s.Refused.Busy != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

func TestErrorOfUseIsReturnedUnchanged(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine)
		mine := errors.New("mine")
		if err := p.Call(background, ramp(8, 1), func(output) error { return mine }); err != mine {
			t.Errorf("got %v", err)
		}
		var none context.Context // has no deadline and never ends
		k.OK(p.Call(none, ramp(8, 1), nil))
		if s := p.Stats(); s.Calls != 2 || s.Failed != 0 || s.Rebuilt != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	each(t, func(k *kit) {
		for _, bound := range []int{0, 3} {
			f, open, _ := k.gated()
			p := k.pool(f, serve.WithReplicas(2), serve.WithQueue(bound))
			var results []<-chan error
			for range 2 {
				results = append(results, start(background, p, 0, nil))
			}
			k.busy(p, 2)
			for range bound {
				results = append(results, start(background, p, 0, nil))
			}
			k.queued(p, bound)
			err := call(background, p, ramp(8, 0))
			var busy *serve.BusyError
			if !errors.As(err, &busy) || !errors.Is(err, serve.ErrBusy) || *busy != (serve.BusyError{Waiting: bound, Replicas: 2}) {
				t.Errorf("bound %d: got %v", bound, err)
			}
			open()
			for _, r := range results {
				k.OK(<-r)
			}
			if s := p.Stats(); s.MostQueued != bound || s.Refused != (serve.Refused{Busy: 1}) || s.Calls != uint64(2+bound) {
				t.Errorf("bound %d: did %+v", bound, s)
			}
		}
	})
}

func TestHigherPrioritiesGoFirst(t *testing.T) {
	each(t, func(k *kit) {
		f, open, _ := k.gated()
		p := k.pool(f)
		results := []<-chan error{start(background, p, 0, nil)}
		k.busy(p, 1)
		var order []int // needs no lock, because the only replica serialises the functions
		priorities := []int{0, 1, 0, 2, 1}
		for i, priority := range priorities {
			results = append(results, start(background, p, priority, func(output) error {
				order = append(order, i)
				return nil
			}))
			k.queued(p, i+1)
		}
		open()
		for _, r := range results {
			k.OK(<-r)
		}
		if want := []int{3, 1, 4, 0, 2}; !slices.Equal(order, want) {
			t.Errorf("served in the order %v, want %v", order, want)
		}
	})
}

// A call of low priority must be served even if calls of high priority are always waiting.
func TestLowPriorityIsServedUnderLoad(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine)
		done := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if err := p.Call(background, ramp(8, 0), nil, serve.WithPriority(1)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 20 {
			k.OK(call(background, p, ramp(8, 3)))
		}
		close(done)
		wg.Wait()
	})
}

func TestCancelledWhileQueued(t *testing.T) {
	each(t, func(k *kit) {
		f, open, _ := k.gated()
		p := k.pool(f)
		first := start(background, p, 0, nil)
		k.busy(p, 1)
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(background)
		second := start(ctx, p, 0, nil)
		k.queued(p, 1)
		third := start(ctx, p, 0, nil)
		k.queued(p, 2)
		cancel(reason)
		for _, r := range []<-chan error{second, third} {
			if err := <-r; !errors.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		}
		fourth := start(background, p, 0, nil)
		k.queued(p, 1)
		if err := call(ctx, p, ramp(8, 0)); !errors.Is(err, reason) {
			t.Errorf("a call whose context has ended: %v", err)
		}
		if s := p.Stats(); s.Queued != 1 || s.MostQueued != 2 || s.CancelledQueued != 3 || s.CancelledRunning != 0 {
			t.Errorf("did %+v", s)
		}
		open()
		k.OK(<-first)
		k.OK(<-fourth)
	})
}

func TestEndedContextTakesNoReplica(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine)
		ctx, cancel := context.WithCancel(background)
		cancel()
		if err := call(ctx, p, ramp(8, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if s := p.Stats(); s.CancelledQueued != 1 || s.CancelledRunning != 0 || s.Failed != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

// A cancelled call must return before its work has ended. Its replica must not serve other calls
// before the work has ended.
func TestCancelledWhileRunning(t *testing.T) {
	each(t, func(k *kit) {
		f, open, entered := k.gated()
		p := k.pool(f)
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(background)
		first := start(ctx, p, 0, func(output) error { t.Error("an output of a cancelled call"); return nil })
		entered()
		cancel(reason)
		if err := <-first; !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
		second := start(background, p, 0, checked(ramp(8, 5)))
		k.queued(p, 1)
		if s := p.Stats(); s.Busy != 1 {
			t.Errorf("did %+v", s)
		}
		open()
		k.OK(<-second)
		k.OK(call(background, p, ramp(8, 9)))
	})
}

// Longest must grow while a call does not end, even after its caller has given up.
func TestLongestIsTheOldestCallInProgress(t *testing.T) {
	each(t, func(k *kit) {
		f, open, entered := k.gated()
		p := k.pool(f, serve.WithReplicas(2))
		if s := p.Stats(); s.Longest != 0 {
			t.Errorf("without a call, Longest is %v", s.Longest)
		}
		ctx, cancel := context.WithCancel(background)
		first := start(ctx, p, 0, nil)
		entered()
		entry := time.Now()
		cancel()
		<-first
		second := start(background, p, 0, nil)
		k.busy(p, 2)
		age := time.Since(entry)
		before := p.Stats().Longest
		if before < age {
			t.Errorf("Longest is %v, but the first call is older than %v", before, age)
		}
		k.until(p, "a longer Longest", func(s serve.Stats) bool { return s.Longest > before })
		open()
		k.OK(<-second)
		k.busy(p, 0)
		if s := p.Stats(); s.Longest != 0 {
			t.Errorf("after the calls, Longest is %v", s.Longest)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	each(t, func(k *kit) {
		f, open, entered := k.gated()
		p := k.pool(f)
		ctx, cancel := context.WithCancel(background)
		cancelled := start(ctx, p, 0, nil)
		entered()
		waiting := start(background, p, 0, nil)
		k.queued(p, 1)
		closed := make(chan error, 2)
		for range cap(closed) {
			go func() { closed <- p.Close() }()
		}
		if err := <-waiting; !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a call that waits at Close: %v", err)
		}
		if err := call(background, p, ramp(8, 0)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		cancel() // cancels even a running call
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that runs at Close: %v", err)
		}
		select {
		case err := <-closed:
			t.Errorf("Close returned %v while a call's work was running", err)
		default:
		}
		open()
		for range cap(closed) {
			k.OK(<-closed)
		}
		if err := p.Prepare(ramp(3, 0)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Prepare after Close: %v", err)
		}
		k.OK(p.Close())
		if s := p.Stats(); s.Busy != 0 || s.Queued != 0 || s.Refused.Closed != 3 {
			t.Errorf("did %+v", s)
		}
	})
}

func TestDeadlinesThatCannotBeMetAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		f, open, _ := k.gated()
		p := k.pool(f, serve.WithDeadlines())
		soon, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		late, cancel := context.WithTimeout(background, 4*time.Hour)
		defer cancel()
		p.SetMean(2 * time.Hour)
		first := start(soon, p, 0, nil) // admitted, because no call is running
		k.busy(p, 1)
		err := call(soon, p, ramp(8, 0))
		if !errors.Is(err, serve.ErrTooLate) || !strings.Contains(err.Error(), "4h0m0s with 0 calls") {
			t.Errorf("got %v", err)
		}
		p.SetMean(time.Hour)
		results := []<-chan error{first, start(late, p, 0, nil)}
		k.queued(p, 1)
		results = append(results, start(background, p, 0, nil)) // has no deadline
		k.queued(p, 2)
		if err := call(late, p, ramp(8, 0)); !errors.Is(err, serve.ErrTooLate) || !strings.Contains(err.Error(), "with 2 calls") {
			t.Errorf("behind two calls: %v", err)
		}
		results = append(results, start(late, p, 1, nil)) // has a higher priority, so it is next
		k.queued(p, 3)
		open()
		for _, r := range results {
			k.OK(<-r)
		}
		if s := p.Stats(); s.Refused != (serve.Refused{TooLate: 2}) {
			t.Errorf("did %+v", s)
		}
	})
}

func TestPoolGrowsWhenCallsQueue(t *testing.T) {
	each(t, func(k *kit) {
		f, open, _ := k.gated()
		p := k.pool(f, serve.WithGrowth(3, 1))
		var results []<-chan error
		for i, want := range []struct{ replicas, queued int }{{1, 0}, {1, 1}, {2, 1}, {3, 1}, {3, 2}} {
			results = append(results, start(background, p, 0, checked(ramp(8, 5))))
			k.until(p, fmt.Sprintf("%+v after %d calls", want, i+1), func(s serve.Stats) bool {
				return s.Replicas == want.replicas && s.Busy == want.replicas && s.Queued == want.queued
			})
		}
		open()
		for _, r := range results {
			k.OK(<-r)
		}
		if s := p.Stats(); s.Grown != 2 || s.MostQueued != 2 || s.Calls != 5 {
			t.Errorf("did %+v", s)
		}
	})
}

func TestPoolDoesNotGrowWithoutMemory(t *testing.T) {
	each(t, func(k *kit) {
		f, open, _ := k.gated()
		p := k.pool(f, serve.WithGrowth(3, 1<<60), serve.WithQueue(2))
		var results []<-chan error
		for i := range 3 {
			results = append(results, start(background, p, 0, nil))
			k.until(p, "the next call", func(s serve.Stats) bool { return s.Busy == 1 && s.Queued == i })
		}
		if err := call(background, p, ramp(8, 0)); !errors.Is(err, serve.ErrBusy) {
			t.Errorf("got %v", err)
		}
		open()
		for _, r := range results {
			k.OK(<-r)
		}
		if s := p.Stats(); s.Grown != 0 || s.Replicas != 1 || s.BuildsFailed != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

func TestPrepareRecordsInEveryReplica(t *testing.T) {
	each(t, func(k *kit) {
		var recorded atomic.Int32
		gated, open, _ := k.gated()
		f := func(t *callable.Trace[[]uint32]) (output, error) {
			recorded.Add(1)
			return gated(t)
		}
		p := k.pool(f, serve.WithReplicas(2), serve.WithGrowth(3, 0), serve.WithQueue(0))
		results := []<-chan error{start(background, p, 0, nil)}
		k.busy(p, 1)
		prepared := make(chan error)
		go func() { prepared <- p.Prepare(ramp(3, 0), ramp(4, 0)) }()
		open() // frees the busy replica, for which Prepare is waiting
		k.OK(<-prepared)
		k.OK(p.Prepare(ramp(3, 0)))
		k.OK(<-results[0])
		if n := recorded.Load(); n != 2+2*2 {
			t.Errorf("%d recordings", n)
		}
		// The third replica is created while the other two are in use. It must have all shapes.
		nested := func(output) error { return call(background, p, ramp(4, 2)) }
		k.OK(p.Call(background, ramp(3, 1), func(output) error { return p.Call(background, ramp(3, 1), nested) }))
		if n := recorded.Load(); n != 3+3*2 || p.Stats().Grown != 1 {
			t.Errorf("%d recordings, %+v", n, p.Stats())
		}
	})
}

// A replica that is created while Prepare adds a shape must also have that shape.
func TestPrepareDuringGrowth(t *testing.T) {
	each(t, func(k *kit) {
		var recorded atomic.Int32
		growing, proceed := make(chan struct{}), make(chan struct{})
		f := func(t *callable.Trace[[]uint32]) (output, error) {
			if recorded.Add(1) == 2 { // during the first recording of the new replica
				close(growing)
				<-proceed
			}
			return k.affine(t)
		}
		p := k.pool(f, serve.WithGrowth(2, 0), serve.WithQueue(0))
		var second <-chan error
		k.OK(p.Call(background, ramp(8, 1), func(output) error { // use the only replica
			second = start(background, p, 0, checked(ramp(8, 5)))
			<-growing
			return nil
		}))
		k.OK(p.Prepare(ramp(3, 0)))
		close(proceed)
		k.OK(<-second)
		if n, s := recorded.Load(), p.Stats(); n != 1+1+1+2 || s.Grown != 1 || s.Replicas != 2 {
			t.Errorf("%d recordings, %+v", n, s)
		}
	})
}

func TestPanicAndGoexitReturnTheReplica(t *testing.T) {
	each(t, func(k *kit) {
		f := func(t *callable.Trace[[]uint32]) (output, error) {
			switch callable.Shape(t, func(in []uint32) int { return len(in) }) {
			case 2:
				panic("of the function")
			case 3:
				runtime.Goexit()
			}
			return k.affine(t)
		}
		p := k.pool(f)
		for i, c := range []func(){
			func() { _ = call(background, p, ramp(2, 0)) },
			func() { _ = call(background, p, ramp(3, 0)) },
			func() { _ = p.Call(background, ramp(8, 0), func(output) error { panic("of use") }) },
			func() { _ = p.Call(background, ramp(8, 0), func(output) error { runtime.Goexit(); return nil }) },
			func() { _ = p.Prepare(ramp(2, 0)) },
		} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				c()
				t.Errorf("case %d returned", i)
			}()
			<-done
			k.OK(call(background, p, ramp(8, 4)))
		}
		if s := p.Stats(); s.Busy != 0 || s.Rebuilt != 3 || s.Failed != 2 || s.Calls != 7 { // Prepare does not count as a call
			t.Errorf("did %+v", s)
		}
	})
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	each(t, func(k *kit) {
		mine := errors.New("mine")
		fails := func(t *callable.Trace[[]uint32]) (output, error) {
			out, err := k.affine(t)
			return out, errors.Join(err, mine)
		}
		in := [][]uint32{ramp(8, 0)}
		for _, c := range []struct {
			what string
			c    *driver.Context
			f    fn
			want error
			opts []serve.Option
		}{
			{"no context", nil, k.affine, driver.CUDA_ERROR_INVALID_VALUE, nil},
			{"no function", k.C, nil, driver.CUDA_ERROR_INVALID_VALUE, nil},
			{"no replica", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithReplicas(0)}},
			{"a negative queue", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithQueue(-1)}},
			{"shrinking", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithReplicas(3), serve.WithGrowth(2, 0)}},
			{"growth to nothing", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithGrowth(0, 0)}},
			{"no memory", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithMemory(0)}},
			{"a failing function", k.C, fails, mine, []serve.Option{nil, serve.WithReplicas(2)}},
			{"an option of the callable", k.C, k.affine, driver.CUDA_ERROR_INVALID_VALUE, []serve.Option{serve.WithCallable(callable.WithVariants(0))}},
		} {
			if p, err := serve.New(c.c, c.f, in, c.opts...); p != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %v, %v", c.what, p, err)
			}
		}
		var none *pool
		k.OK(none.Close())
		for what, err := range map[string]error{
			"Call of nil": none.Call(background, nil, nil), "Call of zero": new(pool).Call(background, nil, nil),
			"Prepare of nil": none.Prepare(nil), "Prepare of zero": new(pool).Prepare(nil),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "serve.New") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if s := none.Stats(); s != (serve.Stats{}) || new(pool).Stats() != s || new(pool).Close() != nil {
			t.Error("a nil pool has something")
		}
	})
}
