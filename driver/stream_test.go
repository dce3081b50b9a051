package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// gate keeps a stream busy until it is opened.
func gate(t *testing.T, s *driver.Stream) (open func()) {
	t.Helper()
	c := make(chan bool)
	noError(t, s.HostFunc(func() { <-c }))
	return func() { close(c) }
}

func TestStreamIsBusyUntilItsWorkIsDone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		if done := must(s.Query())(t); !done {
			t.Error("a new stream is busy")
		}
		open := gate(t, s)
		if done := must(s.Query())(t); done {
			t.Error("a stream with work is not")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := s.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stream") {
			t.Errorf("Wait: %v", err)
		}
		open()
		noError(t, s.Wait(t.Context()))
		if done := must(s.Query())(t); !done {
			t.Error("busy after Wait")
		}
	})
}

func TestWaitIsForEarlierWorkOnly(t *testing.T) {
	defer driver.SetBlockingSlots(0)() // the polling way; the driver's own is so by itself
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		// On a busy machine a wait can begin late, after the work that it is not for.
		for head := 5 * time.Millisecond; !waitsForEarlierWorkOnly(t, s, head); head *= 10 {
			if head > 5*time.Second {
				t.Fatal("Wait waits for work that was sent after it")
			}
		}
	})
}

// waitsForEarlierWorkOnly sends work so long after a wait has begun, and reports
// whether the wait ends before that work.
func waitsForEarlierWorkOnly(t *testing.T, s *driver.Stream, head time.Duration) bool {
	first, waiting := gate(t, s), make(chan error, 1)
	go func() { waiting <- s.Wait(context.Background()) }()
	time.Sleep(head)
	second := gate(t, s)
	first()
	ended := false
	select {
	case err := <-waiting:
		noError(t, err)
		ended = true
	case <-time.After(2 * time.Second):
	}
	second()
	if !ended {
		noError(t, <-waiting)
	}
	noError(t, s.Wait(t.Context()))
	return ended
}

func TestStreamOptions(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		least, greatest, err := c.StreamPriorityRange()
		noError(t, err)
		for _, x := range []struct {
			opts  []driver.StreamOption
			flags cu.CUstream_flags
			prio  int
		}{
			{nil, cu.CU_STREAM_NON_BLOCKING, 0},
			{[]driver.StreamOption{driver.WithLegacySync()}, cu.CU_STREAM_DEFAULT, 0},
			{[]driver.StreamOption{driver.WithPriority(greatest)}, cu.CU_STREAM_NON_BLOCKING, greatest},
			{[]driver.StreamOption{driver.WithPriority(greatest - 100)}, cu.CU_STREAM_NON_BLOCKING, greatest},
			{[]driver.StreamOption{driver.WithPriority(least)}, cu.CU_STREAM_NON_BLOCKING, least},
		} {
			s := must(c.NewStream(x.opts...))(t)
			if f, p := must(s.Flags())(t), must(s.Priority())(t); f != x.flags || p != x.prio {
				t.Errorf("flags %v priority %d, want %v and %d", f, p, x.flags, x.prio)
			}
			noError(t, s.Close())
		}
	})
}

func TestSpecialAndBorrowedStreamsAreNotDestroyed(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		own := must(c.NewStream())(t)
		defer own.Close()
		borrowed := must(c.BorrowStream(own.Raw()))(t)
		for _, s := range []*driver.Stream{c.LegacyStream(), c.PerThreadStream(), borrowed} {
			noError(t, s.Wait(context.Background()))
			noError(t, s.Close())
			noError(t, s.Wait(context.Background()))
		}
		if again := c.LegacyStream(); again != c.LegacyStream() || c.LegacyStream().Raw() != cu.CU_STREAM_LEGACY {
			t.Error("the legacy stream is not one")
		}
	})
}

func TestStreamOfAClosedContext(t *testing.T) {
	f := newFake()
	c := f.open(t)
	legacy := c.LegacyStream()
	noError(t, c.Close())
	if err := legacy.Wait(t.Context()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the legacy stream of a closed context: %v", err)
	}
	if _, err := c.BorrowStream(1); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("borrowing in a closed context: %v", err)
	}
}

func TestCapturingStreamSaysSo(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		d := c.Driver()
		noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
		status, id, err := s.CaptureStatus()
		noError(t, err)
		if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || id == 0 {
			t.Errorf("status %v, id %d", status, id)
		}
		var g driver.CUgraph
		noError(t, d.CuStreamEndCapture(s.Raw(), &g))
		noError(t, d.CuGraphDestroy(g))
		if status, _, err = s.CaptureStatus(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
			t.Errorf("status %v after the end, error %v", status, err)
		}
	})
}

func TestWaitingDoesNotDisturbACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other := must(c.NewStream())(t), must(c.NewStream())(t)
		e := must(c.NewEvent())(t)
		defer closeAll(t, s, other, e)
		open := gate(t, other)
		noError(t, other.Record(e))
		d := c.Driver()
		// Relaxed, because this goroutine is not locked to its thread; the guard
		// itself is looked at in TestEveryWaitIsGuarded.
		noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
		_, qerr := other.Query()
		_, eqerr := e.Query()
		open()
		err := errors.Join(qerr, eqerr, other.Wait(context.Background()), e.Wait(t.Context()))
		var g driver.CUgraph
		noError(t, errors.Join(err, d.CuStreamEndCapture(s.Raw(), &g), d.CuGraphDestroy(g)))
	})
}

func closeAll(t *testing.T, things ...interface{ Close() error }) {
	t.Helper()
	for _, x := range things {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestDoRefusesNil(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		for _, op := range []driver.Op{nil, (*driver.HostFunc)(nil), (*driver.EventOp)(nil),
			driver.RecordOp(nil), driver.WaitOp(nil)} {
			if err := s.Do(op); err == nil {
				t.Errorf("%T was accepted", op)
			}
			if op != nil && fmt.Sprint(op) == "" {
				t.Errorf("%T has no name", op)
			}
		}
	})
}
