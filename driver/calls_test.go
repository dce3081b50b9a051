package driver_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCallsLaunchWhatIsPassed(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(10, 20)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		for _, alpha := range []float32{1, 10} {
			call := calls.Begin(cfg)
			driver.Pass(call, 0, x.All())
			driver.PassMemory(call, 1, y)
			driver.Pass(call, 2, alpha)
			driver.Pass(call, 3, uint32(2))
			noError(t, call.Do(w.s))
		}
		w.wait()
		expect(w, "y", contents(w, y), []float32{21, 42})
	})
}

func TestCallsThatAreNotWholeAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		k, x := w.kernel("axpy"), w.floats(1)
		_, err := driver.NewCalls(k, driver.Reads)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "axpy", "takes 4 arguments", "not 1")
		_, err = driver.NewCalls(nil)
		wantError(t, err, driver.ErrClosed, "nil kernel")
		calls := must(driver.NewCalls(k, 0, 0, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

		call := calls.Begin(cfg)
		driver.Pass(call, 0, x.All())
		wantError(t, call.Do(w.s), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "takes 4", "got 1")
		call = calls.Begin(cfg)
		driver.Pass(call, 1, x.All())
		wantError(t, call.Do(w.s), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 1 is passed where 0 is due")
		call = calls.Begin(driver.LaunchConfig{})
		driver.Pass(call, 0, x.All())
		wantError(t, call.Do(w.s), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "grid dimension X is 0")
		var none *driver.Calls
		call = none.Begin(cfg)
		driver.Pass(call, 0, x.All())
		wantError(t, call.Do(w.s), driver.ErrClosed, "nil kernel")
		if none.Kernel() != nil || calls.Kernel() != k {
			t.Error("not the kernel")
		}
	})
}

func TestCallsLetTheCollectorHaveTheirArguments(t *testing.T) {
	c := gputest.Silent(t, driver.FnCuLaunchKernel)
	w := newWork(t, c)
	calls := must(driver.NewCalls(w.kernel("set"), driver.Writes))(t)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	gone := make(chan bool, 1)
	func() {
		b := must(driver.Alloc[float32](c, 1))(t)
		call := calls.Begin(cfg)
		driver.Pass(call, 0, b.All())
		noError(t, call.Do(w.s))
		noError(t, b.Close())
		runtime.AddCleanup(b.Ref().Lifetime(), func(gone chan bool) { gone <- true }, gone)
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
		}
	}
	runtime.KeepAlive(calls)
	t.Error("the buffer of a call that is over is still reachable")
}

func TestCallsOfAClosedModuleAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		m := must(c.LoadModule([]byte(workPTX)))(t)
		calls := must(driver.NewCalls(must(m.Kernel("set"))(t), driver.Writes))(t)
		noError(t, m.Close())
		call := calls.Begin(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)})
		driver.Pass(call, 0, driver.CUdeviceptr(0))
		if err := call.Do(w.s); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%v is not %v", err, driver.ErrClosed)
		}
	})
}
