package driver_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
)

// The arguments of kernel axpy.
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
		for range 2 { // a rejected call must not be cached, and a correct call must succeed after it
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
		// The spare call also keeps a reference to the buffer.
		noError(t, calls.Do(within{calls, w.s, cfg, &args}, &cfg, &args))
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

// Calls skips the checks of types and memory that have not changed since the previous call. Each
// launch must still use the arguments of its own call.
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

// within is a Doer. Before it runs the operations, it calls the Do method of its field calls again.
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

// takes is a Doer that runs a launch and then passes it to look.
type takes struct {
	s    *driver.Stream
	look func(l *driver.Launch) error
}

func (x takes) Do(ops ...driver.Op) error {
	if err := x.s.Do(ops...); err != nil {
		return err
	}
	return x.look(ops[0].(*driver.Launch))
}

func axpyCalls(w *work) *driver.Calls {
	w.Helper()
	return must(driver.NewCalls(w.kernel("axpy"), driver.Reads, driver.ReadsWrites, 0, 0))(w)
}

var twoThreads = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}

func TestCallsTellWhichMemoryTheyUse(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(10, 20, 30)
		calls := axpyCalls(w)
		for _, v := range []driver.View[float32]{y.View(0, 2), y.View(1, 3), y.View(1, 2), y.All(), y.All(), x.All()} {
			on := takes{w.s, func(l *driver.Launch) error {
				if a := l.Uses().Accesses[1]; a.Addr != uint64(v.Ptr()) || a.Bytes != uint64(v.Bytes()) || a.Mode != driver.ReadsWrites {
					t.Errorf("%v is noted as %+v", v, a)
				}
				if r := l.Uses().Refs[2]; r != v.Ref() {
					t.Errorf("%v is not referred to", v)
				}
				return nil
			}}
			noError(t, calls.Do(on, &twoThreads, &axpyArgs{x.All(), v, 0, 0}))
		}
		w.wait()
	})
}

// Two buffers from an allocator may have the same address. Only the closed one must be rejected.
func TestCallsTellMemoryAtOneAddressApart(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x := w.floats(1, 2)
		at := func() *driver.Buffer[float32] {
			return must(driver.BufferAt[float32](c, must(life.New(c.Lifetime(), "part"))(t), x.Ptr(), 2, nil))(t)
		}
		open, closed := at(), at()
		noError(t, closed.Close())
		calls := axpyCalls(w)
		for range 2 {
			noError(t, calls.Do(w.s, &twoThreads, &axpyArgs{x.All(), open.All(), 1, 0}))
			wantError(t, calls.Do(w.s, &twoThreads, &axpyArgs{x.All(), closed.All(), 1, 0}), driver.ErrClosed, "argument 1 (y)", "part")
		}
		w.wait()
		noError(t, open.Close())
	})
}

func TestCallsForgetWhatWasHalfSet(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(10, 20)
		calls := axpyCalls(w)
		for range 2 {
			noError(t, calls.Do(w.s, &twoThreads, &axpyArgs{x.All(), y.All(), 1, 2}))
			wantError(t, calls.Do(w.s, &twoThreads, &struct{ x, y, n, alpha any }{y, x, uint32(0), float32(9)}), driver.CUDA_ERROR_INVALID_VALUE, "argument 2 (alpha)")
		}
		w.wait()
		expect(w, "y", contents(w, y), []float32{12, 24})
		expect(w, "x", contents(w, x), []float32{1, 2})
	})
}

// A Doer may change or move the launch's arguments. The next call must set them again.
func TestCallsSetAnewWhatWasChanged(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(0, 0)
		calls := axpyCalls(w)
		changes := []func(l *driver.Launch) error{
			func(l *driver.Launch) error { return nil },
			func(l *driver.Launch) error { l.Block().Pack(); return nil },
			func(l *driver.Launch) error { return driver.SetArg(l, 1, y.Ptr()) },
			func(l *driver.Launch) error { return driver.SetArg(l, 1, driver.CUdeviceptr(0)) },
		}
		alpha := float32(1)
		for _, change := range changes {
			for range 2 {
				on := takes{w.s, func(l *driver.Launch) error {
					if len(l.Uses().Refs) != 3 || l.Uses().Refs[2] != y.Ref() {
						t.Error("y is not referred to")
					}
					return change(l)
				}}
				noError(t, calls.Do(on, &twoThreads, &axpyArgs{x.All(), y.All(), alpha, 2}))
				alpha *= 2
			}
		}
		w.wait()
		expect(w, "y", contents(w, y), []float32{255, 510})
	})
}

// Access to another device's memory can be revoked between two calls, so each call checks it.
func TestCallsAskForPeersEachTime(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		near := w.floats(1, 2)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(b, []float32{10, 20}))
		calls := axpyCalls(w)
		do := func() error { return calls.Do(w.s, &twoThreads, &axpyArgs{near.All(), far.All(), 1, 2}) }
		for range 2 {
			wantError(t, do(), driver.CUDA_ERROR_INVALID_VALUE, "argument 1 (y)", "EnablePeerAccess")
			noError(t, a.EnablePeerAccess(b))
			noError(t, do())
			noError(t, do())
			w.wait()
			noError(t, a.DisablePeerAccess(b))
		}
	})
}
