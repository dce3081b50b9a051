package driver_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestPrimaryContextsShareTheDriversContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		other := must(c.Device().PrimaryContext())(t)
		if other == c || other.Raw() != c.Raw() || c.Raw() == 0 {
			t.Errorf("contexts %v and %v", c, other)
		}
		noError(t, other.Close())
		noError(t, c.Synchronize(t.Context())) // still retained
	})
}

func TestCreatedContextWorksFromAnyGoroutine(t *testing.T) {
	gputest.Each(t, func(t *testing.T, primary *driver.Context) {
		c := must(primary.Device().NewContext(cu.CU_CTX_SCHED_BLOCKING_SYNC))(t)
		defer c.Close()
		if c.Raw() == primary.Raw() {
			t.Error("it is the primary one")
		}
		errs := make(chan error)
		for i := range 16 {
			use := []*driver.Context{c, primary}[i%2]
			go func() { errs <- useStream(use) }()
		}
		for range 16 {
			noError(t, <-errs)
		}
	})
}

func useStream(c *driver.Context) error {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	var raw driver.CUcontext
	return errors.Join(s.Context().Driver().CuStreamGetCtx(s.Raw(), &raw),
		sameContext(raw, c.Raw()), s.Wait(context.Background()), s.Close())
}

func sameContext(got, want driver.CUcontext) error {
	if got != want {
		return errors.New("the stream is in another context")
	}
	return nil
}

func TestMemInfoAndLimits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		free, total, err := c.MemInfo()
		noError(t, err)
		if free == 0 || free > total {
			t.Errorf("%d bytes free of %d", free, total)
		}
		before := must(c.Limit(cu.CU_LIMIT_STACK_SIZE))(t)
		defer c.SetLimit(cu.CU_LIMIT_STACK_SIZE, before)
		noError(t, c.SetLimit(cu.CU_LIMIT_STACK_SIZE, 4096))
		if got := must(c.Limit(cu.CU_LIMIT_STACK_SIZE))(t); got < 4096 {
			t.Errorf("the stack limit is %d", got)
		}
		if _, err := c.Limit(cu.CUlimit(9999)); err == nil {
			t.Error("an unknown limit was answered")
		}
	})
}

// A context that was current on threads when it was destroyed must not be
// taken for the next one, which may get the same address.
func TestContextsCanBeMadeAgain(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev := must(d.Device(0))(t)
		for name, make := range map[string]func() (*driver.Context, error){
			"primary": dev.PrimaryContext,
			"created": func() (*driver.Context, error) { return dev.NewContext(cu.CU_CTX_SCHED_AUTO) },
		} {
			for round := range 4 {
				c := must(make())(t)
				if err := useFromManyThreads(c); err != nil {
					t.Errorf("%s context, round %d: %v", name, round, err)
				}
				noError(t, c.Close())
			}
		}
	})
}

// useFromManyThreads makes the context current on several threads at a time.
func useFromManyThreads(c *driver.Context) error {
	const n = 8
	errs := make(chan error, n)
	var together sync.WaitGroup
	together.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			together.Done()
			together.Wait()
			errs <- useStream(c)
		}()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// A context is borrowed on the device that it is of.
func TestABorrowedContextIsOfItsDevice(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{Devices: 2})
	c := must(must(d.Device(1))(t).PrimaryContext())(t)
	_, err := must(d.Device(0))(t).BorrowContext(c.Raw())
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "is of device 1, not of device 0") {
		t.Errorf("borrowed on another device: %v", err)
	}
	b := must(must(d.Device(1))(t).BorrowContext(c.Raw()))(t)
	x := must(driver.Alloc[byte](b, 8))(t)
	noError(t, b.Close())
	noError(t, x.Fill(1)) // the context stays for what was made from it
	noError(t, x.Close())
	noError(t, c.Lost()) // and for its owner
	noError(t, c.Close())
}
