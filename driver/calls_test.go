package driver_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// The arguments of the kernel axpy.
type (
	axpyArgs struct {
		x, y  driver.View[float32]
		alpha float32
		n     uint32
	}
	axpyAny struct {
		x     driver.View[float32]
		y     driver.Memory
		alpha float32
		n     uint32
	}
)

func TestCallsLaunchWhatIsPassed(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(10, 20)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		for _, alpha := range []float32{1, 10} {
			args := axpyAny{x.All(), y, alpha, 2}
			noError(t, calls.Do(w.s, &cfg, &args))
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
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "nil kernel")
		calls := must(driver.NewCalls(k, 0, 0, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}

		args := axpyArgs{x.All(), x.All(), 1, 0}
		for range 2 { // what was refused is not remembered, nor is what was right before
			wantError(t, calls.Do(w.s, &cfg, &struct{ x driver.View[float32] }{x.All()}), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "takes 4", "got 1")
			wantError(t, calls.Do(w.s, &cfg, args), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "not a pointer to a struct")
			wantError(t, calls.Do(w.s, &cfg, (*axpyArgs)(nil)), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "arguments are nil")
			wantError(t, calls.Do(w.s, &cfg, nil), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "arguments are nil")
			wantError(t, calls.Do(w.s, &driver.LaunchConfig{}, &args), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "grid dimension X is 0")
			wantError(t, calls.Do(nil, &cfg, &args), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
			wantError(t, calls.Do((*driver.Stream)(nil), &cfg, &args), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
			noError(t, calls.Do(w.s, &cfg, &args))
		}
		w.wait()
		var none *driver.Calls
		wantError(t, none.Do(w.s, &cfg, &args), driver.CUDA_ERROR_INVALID_VALUE, "nil kernel")
		if none.Kernel() != nil || calls.Kernel() != k {
			t.Error("not the kernel")
		}
	})
}

func TestCallsLetTheCollectorHaveTheirArguments(t *testing.T) {
	c := gputest.Silent(t, cu.FnCuLaunchKernel)
	w := newWork(t, c)
	calls := must(driver.NewCalls(w.kernel("set"), driver.Writes))(t)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	gone := make(chan bool, 1)
	func() {
		b := must(driver.Alloc[float32](c, 1))(t)
		args := struct{ out driver.View[float32] }{b.All()}
		noError(t, calls.Do(w.s, &cfg, &args))
		noError(t, calls.Do(within{calls, w.s, cfg, &args}, &cfg, &args)) // the spare call has it, too
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
		args := struct{ out driver.CUdeviceptr }{0}
		if err := calls.Do(w.s, &driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, &args); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%v is not %v", err, driver.ErrClosed)
		}
	})
}
