package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
)

// takes looks at launches and passes them on.
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
				if a := l.Accesses()[1]; a.Addr != uint64(v.Ptr()) || a.Bytes != uint64(v.Bytes()) || a.Mode != driver.ReadsWrites {
					t.Errorf("%v is noted as %+v", v, a)
				}
				if r := l.Refs()[2]; r != v.Ref() {
					t.Errorf("%v is not referred to", v)
				}
				return nil
			}}
			noError(t, calls.Do(on, &twoThreads, &axpyArgs{x.All(), v, 0, 0}))
		}
		w.wait()
	})
}

// Buffers of allocators may lie at an address where others are, or were.
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

// What takes a launch may move its arguments, or change them.
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
					if len(l.Refs()) != 3 || l.Refs()[2] != y.Ref() {
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

// Access to the memory of another device can be taken away again.
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
