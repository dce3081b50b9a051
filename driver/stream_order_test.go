package driver_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestAStreamRunsAfterAnother(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		first, second := must(c.NewStream())(t), must(c.NewStream())(t)
		defer closeAll(t, first, second)
		release := make(chan struct{})
		order := make(chan int, 2)
		noError(t, first.HostFunc(func() { <-release; order <- 1 }))
		noError(t, second.After(first))
		noError(t, second.HostFunc(func() { order <- 2 }))
		if done, err := second.Query(); done || err != nil {
			t.Errorf("the second stream did not wait: %v, %v", done, err)
		}
		close(release)
		if a, b := <-order, <-order; a != 1 || b != 2 {
			t.Errorf("order %d, %d", a, b)
		}
		noError(t, second.Wait(context.Background()))
	})
}

func TestRunningAfterNoStreamIsRefused(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		s, closed := must(c.NewStream())(t), must(c.NewStream())(t)
		defer closeAll(t, s)
		noError(t, closed.Close())
		wantError(t, s.After(nil), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
		wantError(t, s.After(closed), driver.ErrClosed)
		wantError(t, (*driver.Stream)(nil).After(s), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
		wantError(t, closed.After(s), driver.ErrClosed)
	})
}
