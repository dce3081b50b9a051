package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

func waits(t *testing.T, c *driver.Context) map[string]func(context.Context) error {
	s, e, sleepy := must(c.NewStream())(t), must(c.NewEvent())(t), must(c.NewEvent(driver.WithBlockingSync()))(t)
	t.Cleanup(func() { noError(t, errors.Join(s.Close(), e.Close(), sleepy.Close(), c.Close())) })
	return map[string]func(context.Context) error{"stream": s.Wait, "event": e.Wait, "sleepy event": sleepy.Wait}
}

// everyWay runs a test for each kind of wait in three ways. The wait polls in its own goroutine, it
// blocks because a slot is free, or a shared goroutine polls for it because there are many waits.
func everyWay(t *testing.T, test func(t *testing.T, f *fake, wait func(context.Context) error)) {
	for _, way := range []struct{ few, slots int }{{100, 0}, {100, 1}, {0, 1}} {
		for _, what := range []string{"stream", "event", "sleepy event"} {
			t.Run(fmt.Sprintf("%s, %d are few, %d slots", what, way.few, way.slots), func(t *testing.T) {
				defer driver.SetFewWaits(way.few)()
				defer driver.SetBlockingSlots(way.slots)()
				f := newFake()
				test(t, f, waits(t, f.open(t))[what])
			})
		}
	}
}

func (f *fake) allBusy() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.live {
		f.busy[h] = true
	}
}

func (f *fake) done(h uintptr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, h)
}

func TestWaitReturnsWhenTheWorkIsDone(t *testing.T) {
	everyWay(t, func(t *testing.T, f *fake, wait func(context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, ctx := range []context.Context{ctx, context.Background(), nil} {
			f.allBusy()
			done := make(chan error, 1)
			go func() { done <- wait(ctx) }()
			select {
			case err := <-done:
				t.Fatalf("did not wait, error %v", err)
			case <-time.After(5 * time.Millisecond):
			}
			f.setBusy(0, false)
			noError(t, <-done)
		}
	})
}

func TestWaitEndsWithTheCauseOfTheCancellation(t *testing.T) {
	everyWay(t, func(t *testing.T, f *fake, wait func(context.Context) error) {
		why := errors.New("no longer wanted")
		ctx, cancel := context.WithCancelCause(context.Background())
		f.allBusy()
		time.AfterFunc(2*time.Millisecond, func() { cancel(why) })
		if err := wait(ctx); !errors.Is(err, why) {
			t.Errorf("error %v", err)
		}
		if err := wait(ctx); !errors.Is(err, why) {
			t.Errorf("a wait under a cancelled context: %v", err)
		}
		f.setBusy(0, false)
		noError(t, wait(ctx)) // completion takes precedence over cancellation
	})
}

func TestWaitReportsTheDriversErrorAndTheObject(t *testing.T) {
	everyWay(t, func(t *testing.T, f *fake, wait func(context.Context) error) {
		f.allBusy()
		for _, fn := range []cu.Function{cu.FnCuEventSynchronize, cu.FnCuStreamSynchronize} {
			f.fail[fn] = driver.CUDA_ERROR_ILLEGAL_ADDRESS
		}
		time.AfterFunc(2*time.Millisecond, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fail[cu.FnCuEventQuery] = driver.CUDA_ERROR_ILLEGAL_ADDRESS
		})
		err := wait(context.Background())
		var e *driver.Error
		if !errors.As(err, &e) || e.Result != driver.CUDA_ERROR_ILLEGAL_ADDRESS || !strings.Contains(err.Error(), " 0x") {
			t.Errorf("error %v", err)
		}
		f.setBusy(0, false)
	})
}

func TestEveryWaitIsGuarded(t *testing.T) {
	everyWay(t, func(t *testing.T, f *fake, wait func(context.Context) error) {
		f.allBusy()
		before := f.callCount()
		time.AfterFunc(2*time.Millisecond, func() { f.setBusy(0, false) })
		noError(t, wait(context.Background()))
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, c := range f.calls[before:] {
			bound := c.context == fakeContext
			switch c.fn {
			case cu.FnCuEventQuery, cu.FnCuStreamQuery, cu.FnCuEventRecord:
				bound = true // the event or stream determines the context of the call
			}
			if !c.guarded || !bound {
				t.Fatalf("%v ran under %+v", c.fn, c)
			}
		}
	})
}

func TestOnlyAFewWaitersHoldThreads(t *testing.T) {
	defer driver.SetBlockingSlots(2)()
	f := newFake()
	wait := waits(t, f.open(t))["sleepy event"]
	const n = 200
	done := make(chan error, n)
	for round := range 2 { // the second pass needs the slots that the first one took
		f.allBusy()
		before := f.callCount()
		for range n {
			go func() { done <- wait(context.Background()) }()
		}
		eventually(t, "two blocking calls", func() bool {
			return f.countSince(before, cu.FnCuEventSynchronize) >= 2
		})
		time.Sleep(20 * time.Millisecond) // time for further calls, which must not happen
		blocked := f.countSince(before, cu.FnCuEventSynchronize)
		f.setBusy(0, false)
		for range n {
			noError(t, <-done)
		}
		if blocked != 2 {
			t.Errorf("round %d: %d waits blocked in the driver, 2 may", round, blocked)
		}
	}
}

// The number of sleeping threads is not limited by the number of processors.
func TestSleepingWaitersAreNotLimitedByProcessors(t *testing.T) {
	f := newFake()
	wait := waits(t, f.open(t))["sleepy event"]
	n := max(2, runtime.NumCPU()/2) + 2
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		f.allBusy()
		before, done := f.callCount(), make(chan error, n)
		for range n {
			go func() { done <- wait(ctx) }()
		}
		eventually(t, "all blocking calls", func() bool { return f.countSince(before, cu.FnCuEventSynchronize) == n })
		f.setBusy(0, false)
		for range n {
			noError(t, <-done)
		}
	}
}

// If waits in a sleepy context take long, only one in 16 polls before it sleeps.
func TestLongSleepyWaitsRarelyPoll(t *testing.T) {
	f := newFake()
	wait := waits(t, f.open(t))["sleepy event"]
	long := func() (polled bool) {
		f.allBusy()
		before, done := f.callCount(), make(chan error)
		go func() { done <- wait(context.Background()) }()
		eventually(t, "the blocking call", func() bool { return f.countSince(before, cu.FnCuEventSynchronize) == 1 })
		f.setBusy(0, false)
		noError(t, <-done)
		return f.countSince(before, cu.FnCuEventQuery) > 1
	}
	for range 8 {
		long()
	}
	polls := 0
	for range 32 {
		if long() {
			polls++
		}
	}
	if polls != 2 {
		t.Errorf("%d of 32 long waits polled, want 2", polls)
	}
}

// In a crowd, no wait makes the blocking call. A few goroutines poll for all waits, and each wait
// gets its own result.
func TestCrowdIsPolledByAFew(t *testing.T) {
	t.Run("one poller", func(t *testing.T) { crowd(t, 0, 2) })
	t.Run("four pollers", func(t *testing.T) { crowd(t, 16, 0) }) // the first 16 are not a crowd
}

func crowd(t *testing.T, few, slots int) {
	defer driver.SetFewWaits(few)()
	defer driver.SetBlockingSlots(slots)()
	f := newFake()
	c := f.open(t)
	const n = 300
	events := make([]*driver.Event, n)
	for i := range events {
		events[i] = must(c.NewEvent())(t)
	}
	for range 3 {
		f.allBusy()
		before, goroutines := f.callCount(), runtime.NumGoroutine()
		done := make(chan error, n)
		why := errors.New("no longer wanted")
		ctx, cancel := context.WithCancelCause(t.Context())
		for i, e := range events {
			ctx := [...]context.Context{ctx, context.Background(), nil}[i%3]
			go func() { done <- e.Wait(ctx) }()
		}
		eventually(t, "all waiting", func() bool { return driver.Waits() == n })
		if more := runtime.NumGoroutine() - goroutines; more > n+4 {
			t.Errorf("%d waits took %d goroutines", n, more)
		}
		for _, e := range events[:n/2] {
			f.done(uintptr(e.Raw()))
		}
		for range n / 2 {
			noError(t, <-done)
		}
		cancel(why)
		for range n / 6 {
			if err := <-done; !errors.Is(err, why) {
				t.Errorf("a cancelled wait: %v", err)
			}
		}
		f.setBusy(0, false)
		for range n / 3 {
			noError(t, <-done)
		}
		for _, fn := range []cu.Function{cu.FnCuEventSynchronize, cu.FnCuStreamSynchronize} {
			if k := f.countSince(before, fn); k != 0 {
				t.Errorf("%v was called %d times", fn, k)
			}
		}
	}
	for _, e := range events {
		noError(t, e.Close())
	}
	noError(t, c.Close())
	eventually(t, "everything given back", func() bool { return f.count("event") == 0 && f.retained() == 0 })
}

// A cancelled wait in a crowd releases its references, although the device is still busy.
func TestCancelledWaitInACrowdLetsGo(t *testing.T) {
	defer driver.SetFewWaits(0)()
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.setBusy(uintptr(s.Raw()), true)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := s.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	noError(t, s.Close())
	eventually(t, "the stream's end", func() bool { return f.count("stream") == 0 })
	noError(t, c.Close())
}

func TestLongWaitMakesTheBlockingCall(t *testing.T) {
	for _, what := range []string{"stream", "event", "sleepy event"} {
		t.Run(what, func(t *testing.T) {
			f := newFake()
			wait := waits(t, f.open(t))[what]
			f.allBusy()
			done := make(chan error)
			go func() { done <- wait(context.Background()) }()
			eventually(t, "a blocking call", func() bool { return f.called(cu.FnCuEventSynchronize) })
			f.setBusy(0, false)
			noError(t, <-done)
		})
	}
}

func TestCancellableWaitSleepsOnAnotherGoroutine(t *testing.T) {
	defer driver.SetBlockingSlots(1)()
	f := newFake()
	wait := waits(t, f.open(t))["sleepy event"]
	for range 3 { // a cancelled wait frees its slot once the work is done
		before := f.callCount()
		ctx, cancel := context.WithCancel(t.Context())
		f.allBusy()
		done := make(chan error, 1)
		go func() { done <- wait(ctx) }()
		eventually(t, "a blocking call", func() bool {
			return f.countSince(before, cu.FnCuEventSynchronize) == 1
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		f.setBusy(0, false)
		eventually(t, "the slot coming back", func() bool { return driver.FreeSleepingSlots() == 1 })
	}
}

// In a context created with the blocking-sync flag, waits for streams sleep. The flags are queried
// only once.
func TestSleepyContextIsAskedOnce(t *testing.T) {
	f := newFake()
	f.on(cu.FnCuCtxGetFlags, func(a loader.Args) driver.CUresult {
		*(*uint32)(a.Ptr(0)) = uint32(cu.CU_CTX_SCHED_BLOCKING_SYNC | cu.CU_CTX_MAP_HOST)
		return 0
	})
	c := f.open(t)
	s := must(c.NewStream())(t)
	for range 2 {
		before := f.callCount()
		f.setBusy(uintptr(s.Raw()), true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Wait(ctx) }()
		eventually(t, "a sleeping call", func() bool { return f.countSince(before, cu.FnCuEventSynchronize) == 1 })
		f.setBusy(0, false)
		noError(t, <-done)
		cancel()
	}
	if n := f.countSince(0, cu.FnCuCtxGetFlags); n != 1 {
		t.Errorf("the context was queried %d times", n)
	}
	closeAll(t, s, c)
}

func TestMarksAreReusedAndDestroyedWithTheContext(t *testing.T) {
	defer driver.SetBlockingSlots(0)()
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	for range 20 {
		f.allBusy()
		time.AfterFunc(time.Millisecond, func() { f.setBusy(0, false) })
		noError(t, s.Wait(context.Background()))
	}
	if n := f.count("event"); n != 1 {
		t.Errorf("20 waits in a row made %d events", n)
	}
	noError(t, errors.Join(c.Close(), s.Close()))
	if n := f.count("event"); n != 0 || f.retained() != 0 {
		t.Errorf("%d events and %d contexts are left", n, f.retained())
	}
}

func TestContextSynchronizeHonoursCancellation(t *testing.T) {
	f := newFake()
	c := f.open(t)
	f.setBusy(fakeContext, true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	if err := c.Synchronize(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	noError(t, c.Close())
	if f.retained() != 1 {
		t.Error("the context was released under the blocking call")
	}
	f.setBusy(fakeContext, false)
	eventually(t, "release after the blocking call", func() bool { return f.retained() == 0 })
}

func TestCreatedContextLeavesTheThreadAsItWas(t *testing.T) {
	f := newFake()
	d := must(driver.New(f))(t)
	dev := must(d.Device(0))(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := must(dev.NewContext(cu.CU_CTX_SCHED_AUTO))(t)
	var current driver.CUcontext = 1
	noError(t, d.CuCtxGetCurrent(&current))
	if current != 0 {
		t.Errorf("context %#x is current on the creating thread", current)
	}
	noError(t, c.Close())
	if f.count("context") != 0 {
		t.Error("the context was not destroyed")
	}
}
