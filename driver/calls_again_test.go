package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// Arguments of the same type and memory that stays are not looked at again;
// others are.
func TestCallsAreMadeAgainWithOtherArguments(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y, z := w.floats(1, 2), w.floats(10, 20), w.floats(100, 200)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		axpy := func(y driver.View[float32], alpha float32, n uint32) error {
			call := calls.Begin(cfg)
			driver.PassView(call, 0, x.All())
			driver.PassView(call, 1, y)
			driver.Pass(call, 2, alpha)
			driver.Pass(call, 3, n)
			return call.Do(w.s)
		}
		noError(t, axpy(y.All(), 1, 2))
		noError(t, axpy(y.All(), 2, 1))
		noError(t, axpy(z.All(), 3, 2))
		noError(t, axpy(z.View(1, 2), 1, 1))
		w.wait()
		expect(w, "y", contents(w, y), []float32{13, 22})
		expect(w, "z", contents(w, z), []float32{103, 207})
	})
}

func TestCallsCheckWhatIsPassedInThePlaceOfOtherThings(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), must(driver.Alloc[float32](c, 2))(t)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		axpy := func(y driver.Memory, alpha func(*driver.Call)) error {
			call := calls.Begin(cfg)
			driver.PassView(call, 0, x.All())
			driver.PassMemory(call, 1, y)
			alpha(call)
			driver.Pass(call, 3, uint32(0))
			return call.Do(w.s)
		}
		number := func(call *driver.Call) { driver.Pass(call, 2, float32(1)) }
		for range 2 {
			noError(t, axpy(y, number))
			wantError(t, axpy(y, func(call *driver.Call) { driver.Pass(call, 2, uint32(1)) }), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 2 (alpha)")
			wantError(t, axpy(y, func(call *driver.Call) { driver.PassView(call, 2, x.All()) }), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 2 (alpha)")
			wantError(t, axpy(y, func(call *driver.Call) {}), driver.CUDA_ERROR_INVALID_VALUE, "argument 3 is passed where 2 is due")
			wantError(t, axpy(nil, number), driver.CUDA_ERROR_INVALID_VALUE, "nil")
		}
		w.wait()
		noError(t, y.Close())
		wantError(t, axpy(y, number), driver.ErrClosed, "axpy")
		noError(t, axpy(x, number))
		w.wait()
	})
}
