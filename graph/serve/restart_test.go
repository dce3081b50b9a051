package serve_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// program has a context with kernels, which it can open again.
type program struct {
	*kit
	d      *driver.Driver
	things []interface{ Close() error }
	opened atomic.Int32
	before func() error // runs at the beginning of open, unless it is nil
	record func()       // runs when the function records in a new context, unless it is nil

	patience time.Duration // how long open tries to create a context
}

func newProgram(t testing.TB, lib loader.Library) *program {
	return &program{kit: &kit{Kit: &graphtest.Kit{TB: t}}, d: gputest.Driver(t, lib), patience: 10 * time.Second}
}

// recovering returns an emulator whose new contexts work after a fault.
func recovering() *emulator.Emulator { return emulator.New(emulator.Config{RecoverFaults: true}) }

// trapping is the first element of an input whose kernel traps.
const trapping = 666

func (w *program) open() (*driver.Context, fn, error) {
	w.opened.Add(1)
	if w.before != nil {
		if err := w.before(); err != nil {
			return nil, nil, err
		}
	}
	_ = w.close() // fails with the driver's code, because a lost context cannot release its objects
	dev, err := w.d.Device(0)
	if err != nil {
		return nil, nil, err
	}
	c, err := dev.PrimaryContext()
	for end := time.Now().Add(w.patience); errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED) && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond) // graphs release their context slightly after Close
		c, err = dev.PrimaryContext()
	}
	if err != nil {
		return nil, nil, err
	}
	w.things = append(w.things, c)
	k := &kit{Kit: &graphtest.Kit{TB: w.TB, C: c}}
	trap, modules, err := k.load()
	w.things = append(w.things, modules...)
	if err != nil {
		return nil, nil, err
	}
	return c, func(t *callable.Trace[[]uint32]) (output, error) {
		if w.record != nil && w.opened.Load() > 1 {
			w.record()
		}
		x := callable.StageSlice(t, func(in []uint32) []uint32 { return in[:1] })
		t.Launch(trap, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, x)
		return k.affine(t)
	}, nil
}

func (w *program) close() error {
	var errs []error
	for i := len(w.things) - 1; i >= 0; i-- {
		errs = append(errs, w.things[i].Close())
	}
	w.things = nil
	return errors.Join(errs...)
}

// pool creates a Pool with WithRestart. Everything is closed when the test ends.
func (w *program) pool(apart time.Duration, opts ...serve.Option) *pool {
	w.Helper()
	c, f, err := w.open()
	w.OK(err)
	p, err := serve.New(c, f, [][]uint32{ramp(8, 0)}, append(opts, serve.WithRestart(apart, w.open))...)
	w.OK(err)
	w.watch(p)
	w.Cleanup(func() {
		_ = p.Close() // fails for the same reason as in open
		_ = w.close()
	})
	return p
}

// lose makes a kernel trap and returns the error of its call.
func (w *program) lose(p *pool) *serve.LostError {
	w.Helper()
	var lost *serve.LostError
	if err := call(background, p, ramp(8, trapping)); !errors.As(err, &lost) || !errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED) {
		w.Fatalf("got %v", err)
	}
	return lost
}

func TestPoolContinuesInANewContext(t *testing.T) {
	w := newProgram(t, recovering())
	p := w.pool(0, serve.WithReplicas(3))
	for n := range uint64(3) {
		lost := w.lose(p)
		if !lost.Restarting || lost.Restart != nil || !strings.Contains(lost.Error(), "later calls wait until the pool has a new context") {
			t.Errorf("got %+v", lost)
		}
		for range 4 {
			w.OK(call(background, p, ramp(8, uint32(n))))
		}
		s := p.Stats()
		if s.Restarts != n+1 || s.LastLoss != error(lost) || s.Rebuilt != 0 || s.Replicas != 3 || s.Calls != 4*(n+1) || s.Busy != 0 {
			t.Errorf("did %+v", s)
		}
	}
	if n := w.opened.Load(); n != 4 {
		t.Errorf("opened %d times", n)
	}
}

// A call that holds a replica when the context is lost must return before the restart. Calls that
// arrive later must wait in the queue, up to its usual length, and can be cancelled. Prepare must
// also wait.
func TestCallsDuringARestart(t *testing.T) {
	w := newProgram(t, recovering())
	hold, entered := make(chan struct{}), make(chan struct{})
	p := w.pool(0, serve.WithReplicas(2), serve.WithQueue(3), serve.WithGrowth(3, 0))
	w.before = func() error { close(entered); <-hold; return nil }
	using, used := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- p.Call(background, ramp(8, 0), func(output) error { close(using); <-used; return nil })
	}()
	<-using
	w.lose(p)
	prepared := make(chan error, 1)
	go func() { prepared <- p.Prepare(ramp(5, 0)) }()
	waiting := []<-chan error{start(background, p, 0, checked(ramp(8, 5))), start(background, p, 1, checked(ramp(8, 5)))}
	w.queued(p, 2)
	if w.opened.Load() != 1 {
		t.Error("opened while a call was running")
	}
	close(used)
	w.OK(<-first) // the call's output was complete
	<-entered
	if s := p.Stats(); s.Busy != 0 || s.Replicas != 2 || s.Longest != 0 {
		t.Errorf("during the restart: %+v", s)
	}
	ctx, cancel := context.WithCancel(background)
	cancelled := start(ctx, p, 0, nil)
	w.queued(p, 3)
	var busy *serve.BusyError
	if err := call(background, p, ramp(8, 0)); !errors.As(err, &busy) || busy.Waiting != 3 {
		t.Errorf("got %v", err)
	}
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(hold)
	for _, c := range waiting {
		w.OK(<-c)
	}
	w.OK(<-prepared)
	if s := p.Stats(); s.Restarts != 1 || s.MostQueued != 3 || s.Variants != 4 || s.Calls != 3 || s.Refused.Lost != 0 {
		t.Errorf("did %+v", s)
	}
}

// If a restart fails, the calls that wait for it and later calls must get the reason.
func TestRestartThatFails(t *testing.T) {
	sentinel := errors.New("no weights")
	for name, c := range map[string]struct {
		lib    loader.Library
		before func() error
		want   error
		says   string
		record func()
	}{
		"the driver refuses":   {emulator.New(emulator.Config{}), func() error { return nil }, driver.CUDA_ERROR_LAUNCH_FAILED, "the process must end, because a new context fails as well", nil},
		"open fails":           {recovering(), func() error { return sentinel }, sentinel, "did not restart: no weights", nil},
		"open does not return": {recovering(), func() error { runtime.Goexit(); return nil }, driver.ErrContextLost, "called runtime.Goexit", nil},
		"open panics":          {recovering(), func() error { panic(sentinel) }, sentinel, "did not restart: the function panicked: no weights", nil},
		"recording panics":     {recovering(), func() error { return nil }, sentinel, "the function panicked: no weights", func() { panic(sentinel) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProgram(t, c.lib)
			w.record = c.record
			if c.record == nil {
				w.patience = 0
			}
			p := w.pool(0, serve.WithReplicas(2))
			hold := make(chan struct{})
			w.before = func() error { <-hold; return c.before() }
			first := w.lose(p)
			waiting := start(background, p, 0, nil)
			w.queued(p, 1)
			close(hold)
			var lost *serve.LostError
			if err := <-waiting; !errors.As(err, &lost) {
				t.Fatalf("got %v", err)
			}
			for what, err := range map[string]error{"the waiting call": lost, "a later call": call(background, p, ramp(8, 0)), "Prepare": p.Prepare(ramp(3, 0)), "the Stats": p.Stats().LastLoss} {
				if err != error(lost) || !errors.Is(err, c.want) || !errors.Is(err, driver.ErrContextLost) || lost.Restarting || lost.Restart == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if lost.Call != first.Call || first.Restart != nil || !first.Restarting {
				t.Errorf("first %+v, then %+v", first, lost)
			}
			if s := p.Stats(); s.Restarts != 0 || s.Busy != 0 || w.opened.Load() != 2 {
				t.Errorf("did %+v, opened %d times", s, w.opened.Load())
			}
		})
	}
}

func TestRestartWithoutAContextOrFunction(t *testing.T) {
	w := newProgram(t, recovering())
	c, f, err := w.open()
	w.OK(err)
	nothing := func() (*driver.Context, fn, error) { return nil, nil, nil }
	p, err := serve.New(c, f, nil, serve.WithRestart(0, nothing))
	w.OK(err)
	w.lose(p)
	w.Eventually("the end of the restart", func() bool {
		err := call(background, p, ramp(8, 0))
		return errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) && strings.Contains(err.Error(), "returned no context")
	})
	_, _ = p.Close(), w.close()
}

func TestRestartWithTheLostContext(t *testing.T) {
	w := newProgram(t, recovering())
	c, f, err := w.open()
	w.OK(err)
	p, err := serve.New(c, f, nil, serve.WithRestart(0, func() (*driver.Context, fn, error) { return c, f, nil }))
	w.OK(err)
	w.lose(p)
	w.Eventually("the end of the restart", func() bool {
		var lost *serve.LostError
		return errors.As(call(background, p, ramp(8, 0)), &lost) && errors.Is(lost.Restart, driver.CUDA_ERROR_LAUNCH_FAILED)
	})
	if s := p.Stats(); s.Restarts != 0 {
		t.Errorf("did %+v", s)
	}
	_, _ = p.Close(), w.close()
}

// The context is lost after a call has created a replica. The call must return the LostError,
// because it arrived before the loss, and the replica must be created again.
func TestLossDuringGrowth(t *testing.T) {
	lib := faulty.Wrap(recovering())
	w := newProgram(t, lib)
	p := w.pool(0, serve.WithReplicas(2), serve.WithQueue(0), serve.WithGrowth(3, 0))
	entered, hold := make(chan struct{}), make(chan struct{})
	block := sync.OnceFunc(func() { close(entered); <-hold })
	w.OK(p.Call(background, ramp(8, 0), func(output) error {
		var grows <-chan error
		w.OK(p.Call(background, ramp(8, 0), func(output) error {
			lib.Before(func(symbol string) {
				if symbol == "cuGraphDestroy" { // the last call of a recording
					block()
				}
			})
			grows = start(background, p, 0, nil)
			<-entered
			lib.Before(nil)
			return nil
		}))
		lost := w.lose(p)
		close(hold)
		if err := <-grows; err != error(lost) {
			t.Errorf("got %v", err)
		}
		return nil
	}))
	w.Eventually("the restart", func() bool { return call(background, p, ramp(8, 0)) == nil })
	if s := p.Stats(); s.Replicas != 3 || s.Grown != 1 || s.Variants != 3 || s.Restarts != 1 {
		t.Errorf("did %+v", s)
	}
}

// A kernel that always traps must not restart a Pool forever.
func TestSecondLossSoonAfterARestart(t *testing.T) {
	w := newProgram(t, recovering())
	p := w.pool(time.Hour)
	w.lose(p)
	w.OK(call(background, p, ramp(8, 0)))
	lost := w.lose(p)
	if lost.Restarting || lost.Restart == nil || !strings.Contains(lost.Error(), "its last restart was") {
		t.Errorf("got %v", lost)
	}
	if err := call(background, p, ramp(8, 0)); err != error(lost) || w.opened.Load() != 2 || p.Stats().Restarts != 1 {
		t.Errorf("got %v, opened %d times", err, w.opened.Load())
	}
}

// Close must wait for open, and calls that wait for the restart must return.
func TestCloseDuringARestart(t *testing.T) {
	w := newProgram(t, recovering())
	hold, entered := make(chan struct{}), make(chan struct{})
	p := w.pool(0, serve.WithReplicas(2))
	w.before = func() error { close(entered); <-hold; return nil }
	w.lose(p)
	<-entered
	waiting := start(background, p, 0, nil)
	w.queued(p, 1)
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	if err := <-waiting; !errors.Is(err, driver.ErrClosed) {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-closed:
		t.Errorf("Close returned %v during open", err)
	default:
	}
	close(hold)
	w.OK(<-closed)
	if s := p.Stats(); s.Restarts != 0 || s.Busy != 0 {
		t.Errorf("did %+v", s)
	}
	w.OK(w.close())
}

// Many callers make calls while kernels trap at random times. Every call must return the right
// output or a known error.
func TestSoakOfRestarts(t *testing.T) {
	w := newProgram(t, recovering())
	p := w.pool(0, serve.WithReplicas(2), serve.WithGrowth(4, 1), serve.WithQueue(20))
	restarts := uint64(20)
	if testing.Short() {
		restarts = 5
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			for p.Stats().Restarts < restarts {
				in := ramp(8, uint32(r.IntN(100)))
				if r.IntN(20) == 0 {
					in[0] = trapping
				}
				ctx, cancel := context.WithTimeout(background, time.Duration(1+r.IntN(20))*time.Millisecond)
				err := call(ctx, p, in)
				var lost *serve.LostError
				switch {
				case err == nil && in[0] != trapping:
				case errors.Is(err, serve.ErrBusy):
					runtime.Gosched() // refused calls do not block, and WebAssembly has no preemption
				case errors.As(err, &lost) && lost.Restarting, errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
				default:
					t.Errorf("got %v", err)
					cancel()
					return
				}
				cancel()
			}
		})
	}
	wg.Wait()
	w.Eventually("the last restart", func() bool { return call(background, p, ramp(8, 0)) == nil })
	w.Eventually("the end of cancelled calls' work", func() bool { return p.Stats().Busy == 0 })
	if s := p.Stats(); s.MostQueued > 20 || s.Queued != 0 || s.Replicas > 4 {
		t.Errorf("did %+v", s)
	}
}

func TestRestartOptionsThatCannotWork(t *testing.T) {
	w := newProgram(t, recovering())
	c, f, err := w.open()
	w.OK(err)
	other := func() (*driver.Context, callable.Func[int, int], error) { return nil, nil, nil }
	a, err := arena.New(c)
	w.OK(err)
	for what, o := range map[string][]serve.Option{
		"other types":     {serve.WithRestart(0, other)},
		"no function":     {serve.WithRestart[[]uint32, output](0, nil)},
		"arenas":          {serve.WithRestart(0, w.open), serve.WithArenas(a)},
		"a negative time": {serve.WithRestart(-1, w.open)},
	} {
		if p, err := serve.New(c, f, nil, o...); p != nil || !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "WithRestart") {
			t.Errorf("%s: %v, %v", what, p, err)
		}
	}
	w.OK(a.Close())
	w.OK(w.close())
}

// Each driver call from a loss to the first call after the restart fails once. Afterwards the Pool
// must serve or return a LostError with the reason, and no object may be open.
func TestEveryCallOfARestartMayFail(t *testing.T) {
	e := recovering()
	lib := faulty.Wrap(e)
	w := newProgram(t, lib)
	lib.Ignore("cuThreadExchangeStreamCaptureMode") // a part of other calls, and cannot fail
	flow := func(arm func()) (calls []faulty.Call, err error) {
		c, f, err := w.open()
		w.OK(err)
		p, err := serve.New(c, f, [][]uint32{ramp(8, 0)}, serve.WithReplicas(2), serve.WithRestart(0, w.open))
		w.OK(err)
		arm()
		var errs []error
		if err := call(background, p, ramp(8, trapping)); err == nil {
			t.Error("a kernel did not trap")
		} else if errors.Is(err, graphtest.Injected) {
			errs = append(errs, err)
		}
		errs = append(errs, call(background, p, ramp(8, 3)))
		calls = lib.Stop()
		w.Eventually("the restart or the reason why there is none", func() bool {
			var lost *serve.LostError
			err := call(background, p, ramp(8, 4))
			return err == nil || errors.As(err, &lost) && lost.Restart != nil
		})
		errs = append(errs, p.Stats().BuildError, p.Close())
		if s := p.Stats(); s.Busy != 0 || s.Queued != 0 {
			t.Errorf("left %+v", s)
		}
		_ = w.close() // fails for the same reason as in open
		inflight.Waiting.Wait()
		return calls, errors.Join(errs...)
	}
	calls, err := flow(lib.Count)
	w.OK(err)
	if len(calls) < 100 {
		t.Fatalf("the flow makes %d calls only", len(calls))
	}
	seen, known := map[string]bool{}, 0
	for i, c := range calls {
		if seen[c.Symbol] && i%7 != 0 && testing.Short() {
			continue // in short mode, only the first call of each function and every seventh call fail
		}
		seen[c.Symbol] = true
		did, err := flow(func() { lib.FailNth(i+1, uint32(graphtest.Injected)) })
		var failed faulty.Call
		reopened := false
		for _, c := range did {
			if c.Failed {
				failed = c
				break
			}
			reopened = reopened || c.Symbol == "cuDevicePrimaryCtxRetain" && c.Result == 0
		}
		symbol := failed.Symbol
		if symbol != "" && reopened && !harmless(failed) && !errors.Is(err, graphtest.Injected) {
			t.Errorf("call %d (%s) failed in the new context, and the error was: %v", i+1, symbol, err)
		}
		left := len(e.Leaks()) - known
		known += left
		if most := map[bool]int{true: 2}[strings.HasPrefix(symbol, "cuCtx")]; left > most { // for the reason given in the comment on notMade
			t.Errorf("call %d (%s) failed and left %d of %v, the error was: %v", i+1, symbol, left, e.Leaks(), err)
		}
	}
}
