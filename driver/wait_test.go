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
)

// waits are the two things that can be waited for.
func waits(t *testing.T, c *driver.Context) map[string]func(context.Context) error {
	s, e := must(c.NewStream())(t), must(c.NewEvent())(t)
	t.Cleanup(func() { noError(t, errors.Join(s.Close(), e.Close(), c.Close())) })
	return map[string]func(context.Context) error{"stream": s.Wait, "event": e.Wait}
}

// everyWay runs a test for each wait, with and without slots to block in.
func everyWay(t *testing.T, test func(t *testing.T, f *fake, wait func(context.Context) error)) {
	for _, slots := range []int{0, 1} {
		for _, what := range []string{"stream", "event"} {
			t.Run(fmt.Sprintf("%s with %d slots", what, slots), func(t *testing.T) {
				defer driver.SetBlockingSlots(slots)()
				f := newFake()
				test(t, f, waits(t, f.open(t))[what])
			})
		}
	}
}

// allBusy makes every handle made so far busy.
func (f *fake) allBusy() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.live {
		f.busy[h] = true
	}
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
		noError(t, wait(ctx)) // done wins
	})
}

func TestWaitReportsTheDriversErrorAndTheObject(t *testing.T) {
	everyWay(t, func(t *testing.T, f *fake, wait func(context.Context) error) {
		f.allBusy()
		for _, fn := range []driver.Function{driver.FnCuEventSynchronize, driver.FnCuStreamSynchronize} {
			f.fail[fn] = driver.CUDA_ERROR_ILLEGAL_ADDRESS
		}
		time.AfterFunc(2*time.Millisecond, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.fail[driver.FnCuEventQuery] = driver.CUDA_ERROR_ILLEGAL_ADDRESS
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
			if !c.guarded || c.context != fakeContext {
				t.Errorf("%v ran under %+v", c.fn, c)
			}
		}
	})
}

func TestOnlyAFewWaitersHoldThreads(t *testing.T) {
	defer driver.SetBlockingSlots(2)()
	f := newFake()
	wait := waits(t, f.open(t))["stream"]
	const n = 200
	done := make(chan error, n)
	for round := range 2 { // the slots come back
		f.allBusy()
		before := f.callCount()
		for range n {
			go func() { done <- wait(context.Background()) }()
		}
		eventually(t, "two blocking calls", func() bool {
			return f.countSince(before, driver.FnCuStreamSynchronize) >= 2
		})
		time.Sleep(20 * time.Millisecond) // for more of them, which must not come
		blocked := f.countSince(before, driver.FnCuStreamSynchronize)
		f.setBusy(0, false)
		for range n {
			noError(t, <-done)
		}
		if blocked != 2 {
			t.Errorf("round %d: %d waits blocked in the driver, 2 may", round, blocked)
		}
	}
}

func TestCancellableWaitBlocksOnAnotherGoroutine(t *testing.T) {
	defer driver.SetBlockingSlots(1)()
	f := newFake()
	wait := waits(t, f.open(t))["stream"]
	for range 3 { // a cancelled wait gives its slot back when the work is done
		before := f.callCount()
		ctx, cancel := context.WithCancel(t.Context())
		f.allBusy()
		done := make(chan error, 1)
		go func() { done <- wait(ctx) }()
		eventually(t, "a blocking call", func() bool {
			return f.countSince(before, driver.FnCuEventSynchronize) == 1
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		f.setBusy(0, false)
		eventually(t, "the slot coming back", func() bool { return driver.FreeBlockingSlots() == 1 })
	}
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
	c := must(dev.NewContext(driver.CU_CTX_SCHED_AUTO))(t)
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
