package driver_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// A host function that ends its goroutine, as t.Fatal does, is an error of its
// stream, and those after it run, also in other streams and graphs.
func TestGoexitInAHostFunctionIsAnError(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other := must(c.NewStream())(t), must(c.NewStream())(t)
		ran := make(chan string, 8)
		for range 2 {
			noError(t, s.HostFunc(func() { defer func() { ran <- "ends" }(); runtime.Goexit() }))
		}
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
		if err := s.Wait(context.Background()); !errors.As(err, &p) { // that of the second
			t.Errorf("the second wait returns %v", err)
		}
		noError(t, s.Wait(context.Background()))
		if n := len(ran); n != 3 {
			t.Errorf("%d of 3 functions ran", n)
		}
		closeAll(t, s, other)
	})
}

// A host function cannot close the driver that calls it, which would wait for
// itself.
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
