package driver_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestHostFunctionsRunInOrderAndOnce(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		before := driver.RegisteredHostCalls()
		var got []int
		for i := range 100 {
			noError(t, s.HostFunc(func() { got = append(got, i) }))
		}
		noError(t, s.Wait(t.Context()))
		for i, v := range got {
			if v != i {
				t.Fatalf("position %d ran %d", i, v)
			}
		}
		if len(got) != 100 {
			t.Errorf("%d of 100 ran", len(got))
		}
		eventually(t, "dropped functions being forgotten", func() bool {
			runtime.GC()
			return driver.RegisteredHostCalls() <= before
		})
	})
}

func TestPanicInAHostFunctionIsTheNextWaitsError(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other := must(c.NewStream())(t), must(c.NewStream())(t)
		defer s.Close()
		defer other.Close()
		why := errors.New("broken")
		noError(t, s.HostFunc(func() { panic(why) }))
		noError(t, c.Synchronize(context.Background()))
		noError(t, other.Wait(t.Context()))
		err := s.Wait(t.Context())
		var p *driver.HostPanic
		if !errors.As(err, &p) || !errors.Is(err, why) || !strings.Contains(string(p.Stack), "TestPanicIn") {
			t.Errorf("Wait: %v", err)
		}
		noError(t, s.Wait(t.Context())) // each panic is reported once
	})
}

func TestHostFunctionsMayNotCallCUDA(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		errs := make([]error, 0, 4)
		noError(t, s.HostFunc(func() {
			_, err := c.NewStream()
			_, qerr := s.Query()
			errs = append(errs, err, qerr, s.Wait(context.Background()), c.Synchronize(context.Background()))
		}))
		noError(t, s.Wait(t.Context()))
		for i, err := range errs {
			if !errors.Is(err, driver.CUDA_ERROR_NOT_PERMITTED) || !strings.Contains(err.Error(), "host function") {
				t.Errorf("call %d from a host function: %v", i, err)
			}
		}
		if len(errs) != 4 {
			t.Errorf("the function did not run")
		}
	})
}

func TestOtherGoroutinesAreNotTakenForHostFunctions(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other := must(c.NewStream())(t), must(c.NewStream())(t)
		defer s.Close()
		defer other.Close()
		running, finish := make(chan bool), make(chan bool)
		noError(t, s.HostFunc(func() { running <- true; <-finish }))
		<-running
		for range 50 {
			_, err := other.Query()
			noError(t, err)
			runtime.Gosched()
		}
		done, err := s.Query()
		if done || err != nil {
			t.Errorf("a stream with a running host function: done %t, error %v", done, err)
		}
		close(finish)
		noError(t, s.Wait(t.Context()))
	})
}

// settledHostCalls returns the number of registered host calls after those of earlier tests are
// cleaned up.
func settledHostCalls() int {
	n := driver.RegisteredHostCalls()
	for same := 0; same < 5; same++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if now := driver.RegisteredHostCalls(); now != n {
			n, same = now, 0
		}
	}
	return n
}

func TestHostFunctionThatIsRefusedIsForgotten(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	h := must(driver.NewHostFunc(c, func() {}))(t)
	before := settledHostCalls()
	f.fail[cu.FnCuLaunchHostFunc] = driver.CUDA_ERROR_INVALID_HANDLE
	if err := s.Do(h); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
		t.Errorf("error %v", err)
	}
	if n := driver.RegisteredHostCalls(); n != before {
		t.Errorf("%d entries were left", n-before)
	}
	if _, err := driver.NewHostFunc(c, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("nil function: %v", err)
	}
	_, err := c.AdoptUserObject(nil, 0)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "user object without a destructor")
	noError(t, errors.Join(s.Close(), c.Close()))
}

func TestCapturedHostFunctionRunsOnEveryReplay(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s := must(c.NewStream())(t)
	before := driver.RegisteredHostCalls()
	runs := captureHostFunc(t, f, s)
	hosts := f.hosts
	for range 5 {
		runtime.GC()
		f.hosts = hosts
		f.fire()
	}
	if runs.Load() != 5 {
		t.Errorf("%d runs of 5 replays", runs.Load())
	}
	f.dropGraph()
	eventually(t, "the graph's function being forgotten", func() bool {
		runtime.GC()
		return driver.RegisteredHostCalls() <= before
	})
	noError(t, errors.Join(s.Close(), c.Close()))
}

//go:noinline
func captureHostFunc(t *testing.T, f *fake, s *driver.Stream) *atomic.Int32 {
	var runs atomic.Int32
	f.capture = true
	noError(t, s.HostFunc(func() { runs.Add(1) }))
	f.capture = false
	return &runs
}

func TestFailureToOwnACapturedHostFunctionLeavesItAsItWas(t *testing.T) {
	for _, fn := range []cu.Function{cu.FnCuUserObjectCreate, cu.FnCuGraphRetainUserObject} {
		f := newFake()
		c := f.open(t)
		s := must(c.NewStream())(t)
		ran := false
		h := must(driver.NewHostFunc(c, func() { ran = true }))(t)
		before := driver.RegisteredHostCalls()
		f.fail[fn] = driver.CUDA_ERROR_OUT_OF_MEMORY
		f.capture = true
		if err := s.Do(h); !errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
			t.Errorf("%v: %v", fn, err)
		}
		eventually(t, "the user object being gone", func() bool {
			return driver.RegisteredHostCalls() <= before && f.count("user object") == 0
		})
		clear(f.fail)
		noError(t, s.Do(h))
		f.fire()
		if !ran {
			t.Error("the function cannot be called any more")
		}
		f.dropGraph()
		noError(t, errors.Join(s.Close(), c.Close()))
		runtime.KeepAlive(h)
	}
}

func TestPanicsInGraphsAreToldToAnyStream(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s, other := must(c.NewStream())(t), must(c.NewStream())(t)
	f.capture = true
	noError(t, s.HostFunc(func() { panic("in a graph") }))
	f.capture = false
	f.fire()
	var p *driver.HostPanic
	if err := other.Wait(t.Context()); !errors.As(err, &p) || p.Value != "in a graph" {
		t.Errorf("Wait: %v", err)
	}
	f.dropGraph()
	noError(t, errors.Join(s.Close(), other.Close(), c.Close()))
}

func TestClosingInAHostFunctionIsLeftToAGoroutine(t *testing.T) {
	f := newFake()
	c := f.open(t)
	s, other := must(c.NewStream())(t), must(c.NewStream())(t)
	var err error
	destroyed := false
	noError(t, s.HostFunc(func() {
		err = other.Close()
		time.Sleep(5 * time.Millisecond)
		destroyed = f.onThisThread(cu.FnCuStreamDestroy)
	}))
	f.fire()
	if err != nil || destroyed {
		t.Errorf("Close from a host function: error %v, CUDA called %t", err, destroyed)
	}
	eventually(t, "destruction", func() bool { return f.count("stream") == 1 })
	if last := f.last(t, cu.FnCuStreamDestroy); !last.guarded || last.context != fakeContext {
		t.Errorf("destroyed by %+v", last)
	}
	noError(t, errors.Join(s.Close(), c.Close()))
}

// If a host function ends its goroutine, as t.Fatal does, the next wait for its stream must return
// an error. Later host functions in that stream and in other streams must still run.
func TestGoexitInAHostFunctionIsAnError(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other := must(c.NewStream())(t), must(c.NewStream())(t)
		ran := make(chan string, 8)
		both := make(chan struct{}) // after an error, the second function could not be enqueued
		for range 2 {
			noError(t, s.HostFunc(func() { defer func() { ran <- "ends" }(); <-both; runtime.Goexit() }))
		}
		close(both)
		noError(t, other.HostFunc(func() { ran <- "other" }))
		noError(t, other.Wait(context.Background()))
		err := s.Wait(context.Background())
		var p *driver.HostPanic
		if !errors.As(err, &p) {
			t.Errorf("the wait returns %v", err)
		}
		wantError(t, err, p, "runtime.Goexit", "return instead")
		if len(p.Stack) == 0 {
			t.Error("it does not say where")
		}
		// The second wait returns the error of the second function.
		if err := s.Wait(context.Background()); !errors.As(err, &p) {
			t.Errorf("the second wait returns %v", err)
		}
		noError(t, s.Wait(context.Background()))
		if n := len(ran); n != 3 {
			t.Errorf("%d of 3 functions ran", n)
		}
		closeAll(t, s, other)
	})
}

// A host function cannot close the driver that calls it, because Close would wait for the function.
func TestCloseInAHostFunctionIsAnError(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		var typed, raw error
		_, emulated := c.Driver().Library().(interface{ LastFault() string })
		noError(t, s.HostFunc(func() {
			typed = c.Driver().Close()
			if emulated {
				raw = c.Driver().Library().Close()
			}
		}))
		noError(t, s.Wait(context.Background()))
		wantError(t, typed, driver.CUDA_ERROR_NOT_PERMITTED, "host function")
		if emulated && raw == nil {
			t.Error("the emulator was closed")
		}
		if c.Driver().Closed() {
			t.Error("the driver is closed")
		}
		noError(t, s.HostFunc(func() {}))
		noError(t, s.Wait(context.Background()))
		closeAll(t, s)
	})
}
