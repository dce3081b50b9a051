package driver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

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
		for _, record := range []bool{false, true} { // by methods, then by operations
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
