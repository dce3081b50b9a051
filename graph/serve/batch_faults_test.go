package serve_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestBatchedCallsCancelledWhileQueued(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(4, 0))
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(background)
		results := []<-chan error{joined(background, b, 0, ramp(width, 0))}
		<-v.entered
		results = append(results, k.join(background, b, 1, 5)...)
		cancelled := k.join(ctx, b, 2, 6)
		results = append(results, k.join(background, b, 1, 8)...)
		cancel(reason)
		for _, r := range cancelled {
			if err := <-r; !errors.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		}
		if err := batched(ctx, b, ramp(width, 0)); !errors.Is(err, reason) {
			t.Errorf("a call whose context has ended: %v", err)
		}
		if s := b.Stats(); s.Queued != 2 || s.CancelledQueued != 3 || s.CancelledRunning != 0 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.all(results)
		if got := sizes(b); got != "1: 1/1 2: 1/2 4: 0/0 " {
			t.Errorf("sizes %s", got)
		}
	})
}

// A call that is cancelled while its batch runs must return immediately. The other calls must get
// their outputs.
func TestBatchedCallsCancelledWhileRunning(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(4, 0))
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(background)
		results := []<-chan error{joined(background, b, 0, ramp(width, 0))}
		<-v.entered
		results = append(results, k.join(background, b, 1, 5)...)
		cancelled := k.join(ctx, b, 2, 6)
		results = append(results, k.join(background, b, 1, 8)...)
		v.pass <- struct{}{}
		<-v.entered
		k.OK(<-results[0])
		cancel(reason)
		for _, r := range cancelled {
			if err := <-r; !errors.Is(err, reason) || !strings.Contains(err.Error(), "running") {
				t.Errorf("got %v", err)
			}
		}
		next := k.join(background, b, 1, 9)
		if s := b.Stats(); s.Busy != 1 || s.CancelledRunning != 2 || s.CancelledQueued != 0 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.all(append(results[1:], next...))
		if s := b.Stats(); s.Calls != 4 || s.Failed != 0 {
			t.Errorf("did %+v", s)
		}
	})
}

// If all calls of a batch are cancelled, its replica must serve again only after the batch has
// ended.
func TestWholeBatchIsCancelled(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(4, 0))
		ctx, cancel := context.WithCancel(background)
		first := joined(ctx, b, 0, ramp(width, 0))
		<-v.entered
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		next := k.join(background, b, 2, 5)
		if s := b.Stats(); s.Busy != 1 || s.Queued != 2 {
			t.Errorf("did %+v", s)
		}
		v.open()
		k.all(next)
	})
}

// A call whose context ends while its input is being read must not return before that, because its
// caller may overwrite the input.
func TestBatchedCallCancelledWhileItsInputIsRead(t *testing.T) {
	each(t, func(k *kit) {
		reading, proceed := make(chan struct{}), make(chan struct{})
		var slow, read atomic.Bool
		b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
			return k.rowsOf(t, func(in []uint32) []uint32 {
				if in[0] == 77 && slow.CompareAndSwap(true, false) {
					close(reading)
					<-proceed
					read.Store(true)
				}
				return in
			})
		}, serve.WithBatch(2, time.Hour))
		slow.Store(true)
		ctx, cancel := context.WithCancel(background)
		first := make(chan error, 1)
		go func() {
			err := batched(ctx, b, ramp(width, 77))
			if !read.Load() {
				err = fmt.Errorf("returned while its input was read: %v", err)
			}
			first <- err
		}()
		k.waiting(b, 1)
		second := joined(background, b, 0, ramp(width, 5))
		<-reading
		cancel()
		time.Sleep(20 * time.Millisecond) // a call that does not wait would return now
		close(proceed)
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		k.OK(<-second)
		if s := b.Stats(); s.CancelledRunning != 1 || s.Calls != 1 || sizes(b) != "1: 0/0 2: 1/2 " {
			t.Errorf("did %+v", s)
		}
	})
}

func TestCloseOfABatcher(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		f, v := k.valved()
		b := k.batcher(f, serve.WithBatch(2, 10), serve.WithReplicas(3), serve.WithClock(clock))
		ctx, cancel := context.WithCancel(background)
		running := k.join(background, b, 1, 0)
		k.armed(clock, 10)
		k.Eventually("three goroutines", func() bool { return workers() == 3 })
		running = append(running, joined(background, b, 0, ramp(width, 1)))
		<-v.entered
		abandoned := joined(ctx, b, 0, ramp(width, 0))
		k.armed(clock, 10)
		clock.Advance(10)
		k.running(b, 2)
		cancel()
		if err := <-abandoned; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		collected := k.join(background, b, 1, 5)
		k.armed(clock, 10)
		closed := make(chan error, 2)
		for range cap(closed) {
			go func() { closed <- b.Close() }()
		}
		if err := <-collected[0]; !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a call that waits at Close: %v", err)
		}
		if err := batched(background, b, ramp(width, 0)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
		select {
		case err := <-closed:
			t.Errorf("Close returned %v while a batch was running", err)
		default:
		}
		v.open()
		k.all(running)
		for range cap(closed) {
			k.OK(<-closed)
		}
		k.OK(b.Close())
		if s := b.Stats(); s.Busy != 0 || s.Queued != 0 || s.Refused != (serve.Refused{Closed: 2}) || s.Calls != 2 {
			t.Errorf("did %+v", s)
		}
		k.Eventually("the end of all goroutines", func() bool { return workers() == 0 })
	})
}

// workers returns the number of goroutines of Batchers.
func workers() int {
	stacks := make([]byte, 1<<22)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "]).work(")
}

// An input that has a different shape, or that the function cannot read, must fail only its own
// call.
func TestInputOfAnotherShapeFailsAlone(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		valved := true
		b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
			if valved {
				return f(t)
			}
			return nil, errors.New("recorded")
		}, serve.WithBatch(8, 0))
		valved = false
		first := joined(background, b, 0, ramp(width, 0))
		<-v.entered
		var results []<-chan error
		for i, n := range []int{width, 3, width, 8, width, 0} {
			results = append(results, joined(background, b, 0, ramp(n, uint32(i))))
			k.waiting(b, i+1)
		}
		v.open()
		k.OK(<-first)
		for i, r := range results {
			err := <-r
			if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, serve.ErrShape) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if err := batched(background, b, ramp(2, 0)); !errors.Is(err, serve.ErrShape) {
			t.Errorf("alone: %v", err)
		}
		k.OK(batched(background, b, ramp(width, 3)))
		if s := b.Stats(); s.Failed != 4 || s.Calls != 5 || s.Rebuilt != 0 || s.Busy != 0 || sizes(b) != "1: 2/2 2: 0/0 4: 1/3 8: 0/0 " {
			t.Errorf("did %+v", s)
		}
	})
}

// The inputs must be rejected if their combination has a new shape, although each alone has a known
// one.
func TestBatchOfAnotherShapeIsNotRecorded(t *testing.T) {
	each(t, func(k *kit) {
		f, v := k.valved()
		b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
			callable.Shape(t, func(in [][]uint32) bool { return in[0][0] == in[len(in)-1][0] })
			return f(t)
		}, serve.WithBatch(2, 0))
		first := joined(background, b, 0, ramp(width, 0))
		<-v.entered
		results := k.join(background, b, 2, 5)
		v.open()
		k.OK(<-first)
		for _, r := range results {
			if err := <-r; !errors.Is(err, serve.ErrShape) {
				t.Errorf("got %v", err)
			}
		}
		k.OK(batched(background, b, ramp(width, 3)))
	})
}

func TestPanicsOfFunctionsForBatches(t *testing.T) {
	each(t, func(k *kit) {
		mine := errors.New("mine")
		act := map[uint32]func(){
			100: func() { panic(mine) },
			101: func() { runtime.Goexit() },
		}
		var recording atomic.Bool // false while the inputs are read
		recording.Store(true)
		f, v := k.valved()
		b := k.batcher(func(t *callable.Trace[[][]uint32]) (output, error) {
			c := callable.Constant(t, func(in [][]uint32) uint32 {
				do := act[in[len(in)-1][0]]
				if do != nil && !recording.Load() {
					do()
				}
				return max(in[len(in)-1][0], 99)
			})
			callable.Shape(t, func(in [][]uint32) bool {
				if do := act[in[0][0]]; do != nil && !recording.Load() {
					do()
				}
				return true
			})
			if do := act[c]; do != nil && recording.Load() {
				do()
			}
			return f(t)
		}, serve.WithBatch(2, 0))
		both := func(what string, a, z uint32, want func(i int, err error) bool) {
			first := joined(background, b, 0, ramp(width, 0))
			<-v.entered
			results := append(k.join(background, b, 1, a), k.join(background, b, 1, z)...)
			next := k.join(background, b, 1, 3) // these calls wait for the next batch
			passed := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case v.pass <- struct{}{}:
					case <-passed:
						return
					}
				}
			}()
			k.OK(<-first)
			for i, r := range results {
				if err := <-r; !want(i, err) {
					t.Errorf("%s: call %d: %v", what, i, err)
				}
			}
			k.all(next)
			close(passed)
			<-done
			for len(v.entered) > 0 {
				<-v.entered
			}
		}
		isPanic := func(_ int, err error) bool {
			var p *serve.PanicError
			return errors.As(err, &p) && errors.Is(err, mine) && strings.Contains(err.Error(), "the function panicked: mine") && strings.Contains(string(p.Stack), "TestPanicsOf")
		}
		isExit := func(_ int, err error) bool {
			var p *serve.PanicError
			return errors.As(err, &p) && p.Value == nil && strings.Contains(err.Error(), "Goexit")
		}
		both("panic while recording", 1, 100, isPanic)
		both("Goexit while recording", 1, 101, isExit)
		if s := b.Stats(); s.Rebuilt != 2 || s.Failed != 4 || s.Busy != 0 {
			t.Errorf("did %+v", s)
		}
		recording.Store(false)
		both("panic while reading an input", 100, 2, func(i int, err error) bool { return i == 0 && isPanic(i, err) || i == 1 && err == nil })
		if s := b.Stats(); s.Rebuilt != 2 || s.Failed != 5 || s.Busy != 0 {
			t.Errorf("did %+v", s)
		}
		both("Goexit while reading an input", 101, 2, isExit)
		var none *serve.PanicError
		if none.Error() == "" || none.Unwrap() != nil || new(serve.PanicError).Error() == "" {
			t.Error("a nil PanicError has a value")
		}
	})
}

// Every call of a failed batch must return the error of the batch. Later batches must work.
func TestFailedBatch(t *testing.T) {
	for _, symbol := range []string{"cuMemcpyHtoDAsync_v2", "cuGraphLaunch", "cuEventRecord", "cuEventQuery"} {
		t.Run(symbol, func(t *testing.T) {
			k, lib, _ := faultyKit(t)
			b := k.batcher(k.rows, serve.WithBatch(3, time.Hour), serve.WithBatchSizes(3))
			batch := func() (errs []error) {
				for _, r := range append(k.join(background, b, 2, 0), joined(background, b, 0, ramp(width, 5))) {
					errs = append(errs, <-r)
				}
				return errs
			}
			lib.FailCall(symbol, 1, uint32(graphtest.Injected))
			for i, err := range batch() {
				if !errors.Is(err, graphtest.Injected) || !strings.Contains(err.Error(), "batch 1") {
					t.Errorf("call %d: %v", i, err)
				}
			}
			lib.Stop()
			for _, err := range batch() {
				k.OK(err)
			}
			if s := b.Stats(); s.Failed != 3 || s.Calls != 3 || s.Rebuilt != 1 || s.Busy != 0 || s.BuildsFailed != 0 {
				t.Errorf("did %+v", s)
			}
		})
	}
}

// If no replica works, the calls of one batch must get the error of creating a replica again.
func TestBatcherWithoutAReplica(t *testing.T) {
	k, lib, _ := faultyKit(t)
	b := k.batcher(k.rows, serve.WithBatch(2, time.Hour), serve.WithBatchSizes(1))
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	pair := func() (errs []error) {
		for _, r := range append(k.join(background, b, 1, 0), joined(background, b, 0, ramp(width, 5))) {
			errs = append(errs, <-r)
		}
		return errs
	}
	for _, err := range pair() {
		if !errors.Is(err, graphtest.Injected) || !strings.Contains(err.Error(), "batch 1") {
			t.Errorf("got %v", err)
		}
	}
	lib.FailCall("cuGraphInstantiateWithParams", 1, uint32(graphtest.Injected))
	err := batched(background, b, ramp(width, 5)) // fails without waiting until the window ends
	if !errors.Is(err, graphtest.Injected) || !strings.Contains(err.Error(), "creating one failed") {
		t.Errorf("got %v", err)
	}
	lib.Stop()
	for _, err := range pair() {
		k.OK(err)
	}
	if s := b.Stats(); s.Failed != 3 || s.Calls != 2 || s.Rebuilt != 1 || s.BuildsFailed != 1 || !errors.Is(s.BuildError, graphtest.Injected) || s.Busy != 0 {
		t.Errorf("did %+v", s)
	}
}

// While one worker creates a replica again, a replica that becomes free must serve the waiting
// calls.
func TestFreeReplicaDoesNotWaitForARepair(t *testing.T) {
	k, lib, _ := faultyKit(t)
	b := k.batcher(k.rows, serve.WithBatch(2, 0), serve.WithReplicas(2))
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	if err := batched(background, b, ramp(width, 0)); !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v", err)
	}
	lib.Stop()
	repairing, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	lib.Before(func(symbol string) {
		if symbol == "cuStreamCreateWithPriority" || symbol == "cuStreamCreate" {
			once.Do(func() { close(repairing) })
			<-proceed
		}
	})
	var waits <-chan error
	k.OK(b.Call(background, ramp(width, 0), func(output, int) error { // use the only replica that works
		waits = joined(background, b, 0, ramp(width, 5))
		<-repairing
		return nil
	}))
	k.OK(<-waits)
	if s := b.Stats(); s.Rebuilt != 0 || s.Calls != 2 {
		t.Errorf("did %+v", s)
	}
	close(proceed)
	k.Eventually("the repair", func() bool { return b.Stats().Rebuilt == 1 })
	k.Eventually("two idle workers", func() bool { return b.Idle() == 2 })
	lib.Before(nil)
}

func init() {
	// Two batches of two calls run.
	flows["batch"] = func(k *kit) error {
		pair := func(b *batcher) error {
			results := []<-chan error{joined(background, b, 0, ramp(width, 1)), joined(background, b, 0, ramp(width, 9))}
			first, second := <-results[0], <-results[1]
			if !errors.Is(first, second) && !errors.Is(second, first) {
				k.Errorf("two calls of a batch returned %v and %v", first, second)
			}
			return first
		}
		b, err := serve.NewBatcher(k.C, k.rows, ramp(width, 0), serve.WithBatch(2, time.Hour), serve.WithBatchSizes(2))
		if err != nil {
			return err
		}
		for range 2 {
			if failed := pair(b); failed != nil {
				err = errors.Join(err, failed)
				k.OK(pair(b)) // a failure must not be permanent
			}
		}
		err = errors.Join(err, b.Stats().BuildError, b.Close())
		if s := b.Stats(); s.Busy != 0 || s.Queued != 0 {
			k.Errorf("left: %+v", s)
		}
		return err
	}
}

func init() {
	// One call of a batch is cancelled while the batch runs.
	flows["cancellation in a batch"] = func(k *kit) error {
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		returned := make(chan struct{})
		b, err := serve.NewBatcher(k.C, func(t *callable.Trace[[][]uint32]) (output, error) {
			h, err := driver.NewHostFunc(k.C, func() {
				cancel()
				<-returned
			})
			if err != nil {
				return nil, err
			}
			t.Do(h)
			return k.rows(t)
		}, ramp(width, 0), serve.WithBatch(2, time.Hour), serve.WithBatchSizes(2))
		if err != nil {
			return err
		}
		cancelled, other := joined(ctx, b, 0, ramp(width, 1)), joined(background, b, 0, ramp(width, 9))
		first := <-cancelled
		close(returned)
		second := <-other
		if errors.Is(first, context.Canceled) {
			first = nil
		}
		return errors.Join(first, second, b.Stats().BuildError, b.Close())
	}
}

// Of 13 calls, four run in one batch and nine wait. Then a kernel traps.
func TestLostContextFailsAllBatches(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Kit: &graphtest.Kit{TB: t, C: c}}
	trap, modules, err := k.load()
	k.OK(err)
	f, v := k.valved()
	b, err := serve.NewBatcher(c, func(t *callable.Trace[[][]uint32]) (output, error) {
		x := callable.StageRows(t, func(in []uint32) []uint32 { return in })
		out, err := f(t)
		t.Launch(trap, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, x)
		return out, err
	}, ramp(width, 0), serve.WithBatch(4, 0))
	k.OK(err)
	first := joined(background, b, 0, ramp(width, 1))
	<-v.entered
	results := k.join(background, b, 1, 666)
	results = append(results, k.join(background, b, 3, 5)...)
	v.pass <- struct{}{}
	k.OK(<-first)
	<-v.entered
	results = append(results, k.join(background, b, 9, 50)...)
	v.open()
	var lost *serve.LostError
	for i, r := range results {
		err := <-r
		if lost == nil && !errors.As(err, &lost) {
			t.Fatalf("call %d: %v", i, err)
		}
		if err != error(lost) {
			t.Errorf("call %d: got another error: %v", i, err)
		}
	}
	if err := batched(background, b, ramp(width, 0)); err != error(lost) || !errors.Is(err, driver.ErrContextLost) {
		t.Errorf("got %v", err)
	}
	if s := b.Stats(); s.Failed != 4 || s.Refused != (serve.Refused{Lost: 10}) || s.Busy != 0 || s.Queued != 0 {
		t.Errorf("did %+v", s)
	}
	_ = b.Close() // fails, because objects of a lost context cannot be destroyed
	if err := batched(background, b, ramp(width, 0)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	for _, m := range append(modules, c) {
		_ = m.Close() // fails because the context is lost
	}
}
