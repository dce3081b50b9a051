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
