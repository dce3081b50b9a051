package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// gate keeps a stream busy until the returned function is called.
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
	// With no slots, every wait polls. A blocking wait would test only the driver.
	defer driver.SetBlockingSlots(0)()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		defer s.Close()
		// On a busy machine, a wait may not begin until the work that it must ignore has been
		// enqueued. The test then repeats with a longer head start.
		for head := 5 * time.Millisecond; !waitsForEarlierWorkOnly(t, s, head); head *= 10 {
			if head > 5*time.Second {
				t.Fatal("Wait waits for work that was enqueued after it")
			}
		}
	})
}

// waitsForEarlierWorkOnly begins a wait and then enqueues more work. It reports whether the wait
// ends before that work does.
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
		status, id, _, err := s.CaptureStatus()
		noError(t, err)
		if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || id == 0 {
			t.Errorf("status %v, id %d", status, id)
		}
		var g driver.CUgraph
		noError(t, d.CuStreamEndCapture(s.Raw(), &g))
		noError(t, d.CuGraphDestroy(g))
		if status, _, _, err = s.CaptureStatus(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
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
		// The capture is relaxed because this goroutine is not locked to its thread.
		// TestEveryWaitIsGuarded checks the guard.
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

// Work in a stream runs in the stream's context, whichever context is current on the thread. The
// library relies on that for drivers of version selfBound or newer.
func TestStreamsNameTheirContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		other := must(c.Device().NewContext(0))(t)
		defer other.Close()
		streamWorkUnder(t, c, other)
	})
}

func TestStreamsNameTheirDevice(t *testing.T) {
	eachPair(t, streamWorkUnder)
}

// streamWorkUnder enqueues work of c twice: while no context is current on the thread, and while
// other is current.
func streamWorkUnder(t *testing.T, c, other *driver.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := c.Device().Driver()
	defer func() { noError(t, d.CuCtxSetCurrent(0)) }()
	s := must(c.NewStream())(t)
	defer s.Close()
	e := must(c.NewEvent())(t)
	defer e.Close()
	host := must(driver.AllocHostFrom(c, []uint32{7, 8, 9}))(t)
	defer host.Close()
	back := must(driver.AllocHost[uint32](c, 3))(t)
	defer back.Close()
	a := must(driver.Alloc[uint32](c, 3))(t)
	defer a.Close()
	b := must(driver.Alloc[uint32](c, 3))(t)
	defer b.Close()
	up := must(driver.Upload(a, host))(t)
	across := must(driver.CopyDevice(b, a))(t)
	fill := must(driver.Fill(b.View(0, 1), uint32(5)))(t)
	down := must(driver.Download(back, b))(t)

	for _, current := range []driver.CUcontext{0, other.Raw()} {
		noError(t, b.Fill(0))
		noError(t, d.CuCtxSetCurrent(current))
		noError(t, s.Record(e))
		noError(t, s.WaitEvent(e))
		for _, op := range []driver.Op{up, across, fill, down} {
			noError(t, s.Do(op))
		}
		memoryUnder(t, s, e)
		var is driver.CUcontext
		noError(t, d.CuCtxGetCurrent(&is))
		if is != current {
			t.Errorf("context %#x is current, before it was %#x", is, current)
		}
		noError(t, s.Wait(t.Context()))
		if got := [3]uint32(back.Slice()); got != [3]uint32{5, 8, 9} {
			t.Errorf("with context %#x current: %v, want [5 8 9]", current, got)
		}
	}
}

// memoryUnder allocates and frees stream-ordered memory and queries s and e.
func memoryUnder(t *testing.T, s *driver.Stream, e *driver.Event) {
	if devicePools := must(s.Context().Device().Properties())(t).MemoryPools; devicePools {
		for _, free := range []func(*driver.Buffer[uint32]) error{
			(*driver.Buffer[uint32]).Close,
			func(b *driver.Buffer[uint32]) error { return b.FreeAsync(s) },
		} {
			b := must(driver.AllocAsync[uint32](s, 3))(t)
			noError(t, s.Do(must(driver.Fill(b, 5))(t)))
			noError(t, free(b))
		}
	}
	noError(t, s.Record(e))
	capturing := func() (bool, error) {
		status, _, _, err := s.CaptureStatus()
		return status != cu.CU_STREAM_CAPTURE_STATUS_NONE, err
	}
	for _, query := range []func() (bool, error){s.Query, e.Query, capturing} {
		_, err := query()
		noError(t, err)
	}
}

// A GLOBAL capture on one thread must survive while another goroutine queries a stream's capture
// status and an event, and waits for both.
func TestQueriesOfCapturesDisturbNone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, other, e := must(c.NewStream())(t), must(c.NewStream())(t), must(c.NewEvent())(t)
		defer closeAll(t, s, other, e)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d := c.Driver()
		noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_GLOBAL))
		errs := make(chan error)
		go func() {
			status, _, graph, err := other.CaptureStatus()
			if status != cu.CU_STREAM_CAPTURE_STATUS_NONE || graph != 0 {
				err = errors.Join(err, errors.New("a stream that is not capturing reports that it is"))
			}
			_, queried := e.Query()
			errs <- errors.Join(err, queried, other.Record(e), e.Wait(t.Context()), other.Wait(t.Context()))
		}()
		noError(t, <-errs)
		var g driver.CUgraph
		noError(t, d.CuStreamEndCapture(s.Raw(), &g))
		noError(t, d.CuGraphDestroy(g))
	})
}

func TestAStreamRunsAfterAnother(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		first, second := must(c.NewStream())(t), must(c.NewStream())(t)
		defer closeAll(t, first, second)
		release := make(chan struct{})
		order := make(chan int, 2)
		noError(t, first.HostFunc(func() { <-release; order <- 1 }))
		noError(t, second.After(first))
		noError(t, second.HostFunc(func() { order <- 2 }))
		if done, err := second.Query(); done || err != nil {
			t.Errorf("the second stream did not wait: %v, %v", done, err)
		}
		close(release)
		if a, b := <-order, <-order; a != 1 || b != 2 {
			t.Errorf("order %d, %d", a, b)
		}
		noError(t, second.Wait(context.Background()))
	})
}

func TestRunningAfterNoStreamIsRefused(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		s, closed := must(c.NewStream())(t), must(c.NewStream())(t)
		defer closeAll(t, s)
		noError(t, closed.Close())
		wantError(t, s.After(nil), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
		wantError(t, s.After(closed), driver.ErrClosed)
		wantError(t, (*driver.Stream)(nil).After(s), driver.CUDA_ERROR_INVALID_VALUE, "nil stream")
		wantError(t, closed.After(s), driver.ErrClosed)
	})
}

func TestEventHappensWhenTheWorkBeforeItIsDone(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, e := must(c.NewStream())(t), must(c.NewEvent(driver.WithBlockingSync()))(t)
		defer closeAll(t, s, e)
		if done := must(e.Query())(t); !done {
			t.Error("an event that was never recorded did not happen")
		}
		open := gate(t, s)
		noError(t, e.Record(s))
		if done := must(e.Query())(t); done {
			t.Error("it happened before the work")
		}
		open()
		noError(t, e.Wait(t.Context()))
		if done := must(e.Query())(t); !done {
			t.Error("it did not happen after Wait")
		}
	})
}

func TestStreamWaitsForTheEventOfAnother(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		a, b := must(c.NewStream())(t), must(c.NewStream())(t)
		e := must(c.NewEvent())(t)
		defer closeAll(t, a, b, e)
		// The first round uses methods, the second operations.
		for _, record := range []bool{false, true} {
			open := gate(t, a)
			if record {
				noError(t, errors.Join(a.Do(driver.RecordOp(e)), b.Do(driver.WaitOp(e))))
			} else {
				noError(t, errors.Join(a.Record(e), b.WaitEvent(e)))
			}
			if done := must(b.Query())(t); done {
				t.Error("the stream did not wait")
			}
			open()
			noError(t, b.Wait(t.Context()))
			if done := must(a.Query())(t); !done {
				t.Error("the stream did not wait for the whole of the other")
			}
		}
	})
}

func TestElapsedIsTheTimeBetweenTwoEvents(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		start, end := must(c.NewEvent(driver.WithTiming()))(t), must(c.NewEvent(driver.WithTiming()))(t)
		defer closeAll(t, s, start, end)
		const pause = 20 * time.Millisecond
		begin := time.Now()
		noError(t, s.Record(start))
		noError(t, s.HostFunc(func() { time.Sleep(pause) }))
		noError(t, s.Record(end))
		noError(t, end.Wait(t.Context()))
		took := time.Since(begin)
		if got := must(end.Elapsed(start))(t); got < pause-time.Millisecond || got > took+time.Millisecond {
			t.Errorf("%v between events, the pause was %v and all of it took %v", got, pause, took)
		}
	})
}

func TestElapsedNeedsTiming(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		timed, plain := must(c.NewEvent(driver.WithTiming()))(t), must(c.NewEvent())(t)
		defer closeAll(t, s, timed, plain)
		for _, pair := range [][2]*driver.Event{{timed, plain}, {plain, timed}} {
			_, err := pair[0].Elapsed(pair[1])
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) || !strings.Contains(err.Error(), "WithTiming") {
				t.Errorf("error %v", err)
			}
		}
		if _, err := timed.Elapsed(timed); err == nil {
			t.Error("the time of an event that was never recorded")
		}
	})
}

// CaptureStatus returns the graph of an active capture. It also returns the status of an
// invalidated one.
func TestTheGraphOfACaptureIsReturned(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	s := must(c.NewStream())(t)
	if status, id, g, err := s.CaptureStatus(); status != cu.CU_STREAM_CAPTURE_STATUS_NONE || g != 0 || id != 0 || err != nil {
		t.Errorf("without a capture: %v, %#x, %d, %v", status, g, id, err)
	}
	d := c.Driver()
	noError(t, d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	if status, id, g, err := s.CaptureStatus(); status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || g == 0 || id == 0 || err != nil {
		t.Errorf("while capturing: %v, %#x, %d, %v", status, g, id, err)
	}
	if d.CuStreamSynchronize(s.Raw()) == nil {
		t.Error("a wait for a stream that captures succeeded")
	}
	if status, _, _, err := s.CaptureStatus(); status != cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED || err != nil {
		t.Errorf("of a broken capture: %v, %v", status, err)
	}
	var out driver.CUgraph
	if d.CuStreamEndCapture(s.Raw(), &out) == nil {
		t.Error("a broken capture ended well")
	}
	noError(t, s.Close())
}

func TestInterprocessEventsHaveNoTiming(t *testing.T) {
	var flags uint32
	c := gputest.Watched(t, cu.FnCuEventCreate, func(a loader.Args) { flags = a.Uint32(1) })
	noError(t, must(c.NewEvent(driver.WithInterprocess()))(t).Close())
	if want := uint32(cu.CU_EVENT_INTERPROCESS | cu.CU_EVENT_DISABLE_TIMING); flags&want != want {
		t.Errorf("flags %#x, want %#x among them", flags, want)
	}
}
