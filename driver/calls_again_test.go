package driver_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// Arguments of the same type and memory that stays are not looked at again;
// others are.
func TestCallsAreMadeAgainWithOtherArguments(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y, z := w.floats(1, 2), w.floats(10, 20), w.floats(100, 200)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		axpy := func(y driver.View[float32], alpha float32, n uint32, threads int) error {
			cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}
			return calls.Do(w.s, &cfg, &axpyArgs{x.All(), y, alpha, n})
		}
		noError(t, axpy(y.All(), 1, 2, 2))
		noError(t, axpy(y.All(), 2, 1, 2))
		noError(t, axpy(z.All(), 3, 2, 2))
		noError(t, axpy(z.View(1, 2), 1, 1, 2))
		noError(t, axpy(y.All(), 5, 2, 1))
		w.wait()
		expect(w, "y", contents(w, y), []float32{18, 22})
		expect(w, "z", contents(w, z), []float32{103, 207})
	})
}

func TestCallsCheckWhatIsPassedInThePlaceOfOtherThings(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), must(driver.Alloc[float32](c, 2))(t)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		axpy := func(y driver.Memory) error { return calls.Do(w.s, &cfg, &axpyAny{x.All(), y, 1, 0}) }
		for range 2 {
			noError(t, axpy(y))
			noError(t, axpy(driver.InOut(y)))
			noError(t, calls.Do(w.s, &cfg, &struct {
				x     any
				y     *driver.Buffer[float32]
				alpha any
				n     cu.CUlaunchAttributeID
			}{x, y, float32(1), 0}))
			wantError(t, calls.Do(w.s, &cfg, &struct {
				x        driver.View[float32]
				y        driver.Memory
				alpha, n uint32
			}{x.All(), y, 1, 0}), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 2 (alpha)")
			wantError(t, calls.Do(w.s, &cfg, &struct {
				x     driver.View[float32]
				y     driver.Memory
				alpha driver.View[float32]
				n     uint32
			}{x.All(), y, x.All(), 0}), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 2 (alpha)")
			wantError(t, axpy(nil), driver.CUDA_ERROR_INVALID_VALUE, "nil")
			wantError(t, calls.Do(w.s, &cfg, &axpyArgs{y: x.All()}), driver.CUDA_ERROR_INVALID_VALUE, "axpy", "argument 0 (x)", "nil")
		}
		w.wait()
		noError(t, y.Close())
		wantError(t, axpy(y), driver.ErrClosed, "axpy")
		noError(t, axpy(x))
		w.wait()
	})
}

// Each is found where everything else is as it was the time before.
func TestCallsFindWhatWasClosedSince(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), must(driver.Alloc[float32](c, 2))(t)
		m := must(c.LoadModule([]byte(workPTX)))(t)
		calls := must(driver.NewCalls(must(m.Kernel("axpy"))(t), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		right, closing := axpyArgs{x.All(), x.All(), 1, 0}, axpyArgs{x.All(), y.All(), 1, 0}
		do := func(s *driver.Stream, args *axpyArgs) error { return calls.Do(s, &cfg, args) }

		noError(t, do(w.s, &closing))
		w.wait()
		noError(t, y.Close())
		for range 2 {
			wantError(t, do(w.s, &closing), driver.ErrClosed, "axpy", "argument 1 (y)")
		}
		noError(t, do(w.s, &right))
		s := must(c.NewStream())(t)
		noError(t, do(s, &right))
		noError(t, s.Wait(t.Context()))
		noError(t, s.Close())
		wantError(t, do(s, &right), driver.ErrClosed, "stream")
		noError(t, do(w.s, &right))
		w.wait()
		noError(t, m.Close())
		wantError(t, do(w.s, &right), driver.ErrClosed, "axpy")
	})
}

func TestCallsRefuseStreamsOfOtherContexts(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		other := must(c.Device().NewContext(0))(t)
		s := must(other.NewStream())(t)
		x := w.floats(1, 2)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		for range 2 {
			noError(t, calls.Do(w.s, &cfg, &axpyArgs{x.All(), x.All(), 1, 0}))
			wantError(t, calls.Do(s, &cfg, &axpyArgs{x.All(), x.All(), 1, 0}), driver.CUDA_ERROR_INVALID_VALUE, "stream")
		}
		w.wait()
		noError(t, s.Close())
		noError(t, other.Close())
	})
}

// within takes a launch by making another one of the same kernel first.
type within struct {
	calls *driver.Calls
	s     *driver.Stream
	cfg   driver.LaunchConfig
	args  any
}

func (w within) Do(ops ...driver.Op) error {
	if err := w.calls.Do(w.s, &w.cfg, w.args); err != nil {
		return err
	}
	return w.s.Do(ops...)
}

func TestCallsAreMadeWithinCalls(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y, z := w.floats(1, 2), w.floats(10, 20), w.floats(100, 200)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		for range 2 {
			on := within{calls, w.s, cfg, &axpyArgs{x.All(), z.All(), 1, 2}}
			noError(t, calls.Do(on, &cfg, &axpyArgs{x.All(), y.All(), 10, 2}))
		}
		w.wait()
		expect(w, "y", contents(w, y), []float32{30, 60})
		expect(w, "z", contents(w, z), []float32{102, 204})
	})
}

// Each launch has the arguments of its goroutine, whatever the collector lets go of.
func TestCallsOfManyGoroutines(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		const goroutines, rounds = 4, 50
		w := newWork(t, c)
		x := w.floats(1, 2)
		calls := must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(t)
		sums := make([]*driver.Buffer[float32], goroutines)
		var wg sync.WaitGroup
		for i := range sums {
			sums[i] = w.floats(0, 0)
			s := must(c.NewStream())(t)
			t.Cleanup(func() { noError(t, s.Close()) })
			wg.Go(func() {
				cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
				for range rounds {
					if err := calls.Do(s, &cfg, &axpyArgs{x.All(), sums[i].All(), float32(i), 2}); err != nil {
						t.Error(err)
					}
					if i == 0 {
						runtime.GC()
					}
				}
				if err := s.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, b := range sums {
			expect(w, "sum", contents(w, b), []float32{float32(rounds * i), float32(2 * rounds * i)})
		}
	})
}
