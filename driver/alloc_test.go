//go:build !purecuda_syscall && (amd64 || arm64)

package driver_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// On a GPU this holds for the whole path; on the fake driver it holds for ours,
// and the fake's own bookkeeping is left out by taking the books away.
func TestStreamsAndEventsDoNotAllocate(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		f := newFake()
		f.silence()
		c := f.open(t)
		steadyState(t, c)
		noError(t, c.Close())
	})
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, steadyState) })
}

func steadyState(t *testing.T, c *driver.Context) {
	s, e := must(c.NewStream())(t), must(c.NewEvent())(t)
	defer closeAll(t, s, e)
	record, wait := driver.RecordOp(e), driver.WaitOp(e)
	cancellable, cancel := context.WithCancel(t.Context())
	defer cancel()
	noError(t, s.Wait(cancellable)) // makes what is made once
	for name, call := range map[string]func() error{
		"Record":         func() error { return s.Record(e) },
		"WaitEvent":      func() error { return s.WaitEvent(e) },
		"Do record":      func() error { return s.Do(record) },
		"Do wait":        func() error { return s.Do(wait) },
		"Stream.Query":   func() error { _, err := s.Query(); return err },
		"Event.Query":    func() error { _, err := e.Query(); return err },
		"Stream.Wait":    func() error { return s.Wait(context.Background()) },
		"Wait, could be": func() error { return s.Wait(cancellable) },
		"Event.Wait":     func() error { return e.Wait(context.Background()) },
		"LegacyStream":   func() error { return c.LegacyStream().Record(e) },
	} {
		noError(t, call())
		noError(t, c.Synchronize(context.Background()))
		if n := testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Waiting for busy work may allocate when it is handed to another goroutine,
// but not while it polls or blocks.
func TestWaitingDoesNotAllocate(t *testing.T) {
	for _, slots := range []int{0, 1} {
		restore := driver.SetBlockingSlots(slots)
		f := newFake()
		f.silence()
		c := f.open(t)
		s := must(c.NewStream())(t)
		f.busyFor = 3
		if n := testing.AllocsPerRun(100, func() {
			if err := s.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%d slots: %v allocations", slots, n)
		}
		restore()
		closeAll(t, s, c)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	cfg := a.config()
	cfg.Priority = -1
	ex := must(a.k.Prepare(cfg, a.args()...))(t)
	host := must(driver.AllocHost[float32](a.c, 64))(t)
	up := must(driver.Upload(a.x, host))(t)
	down := must(driver.Download(host, a.x))(t)
	fill := must(driver.Fill(a.x, 0))(t)
	view := a.y.View(1, 2)
	a.silence()
	for name, f := range map[string]func() error{
		"launch":           func() error { return a.s.Do(l) },
		"launch ex":        func() error { return a.s.Do(ex) },
		"upload":           func() error { return a.s.Do(up) },
		"download":         func() error { return a.s.Do(down) },
		"fill":             func() error { return a.s.Do(fill) },
		"set buffer":       func() error { return driver.SetArg(l, 0, a.x) },
		"set view":         func() error { return driver.SetArg(l, 1, view) },
		"set number":       func() error { return driver.SetArg(l, 2, float32(3)) },
		"set struct":       func() error { return driver.SetArg(l, 4, shape{1, 1, 1}) },
		"set small number": func() error { return driver.SetArg(l, 6, uint16(3)) },
		"take a view":      func() error { return a.y.View(3, 9).Err() },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestRealDriverSteadyStateDoesNotAllocate(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2), w.floats(1, 2)
		host := closing[*driver.HostBuffer[float32]](w)(driver.AllocHost[float32](c, 2))
		l := must(w.kernel("axpy").Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, x, y, float32(2), uint32(2)))(t)
		up, fill := must(driver.Upload(x, host))(t), must(driver.Fill(y, 0))(t)
		if n := testing.AllocsPerRun(100, func() {
			noError(t, firstOf(driver.SetArg(l, 2, float32(1)), w.s.Do(l)))
			noError(t, firstOf(w.s.Do(up), w.s.Do(fill)))
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		w.wait()
	})
}
