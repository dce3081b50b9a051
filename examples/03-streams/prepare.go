package main

import (
	"context"
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

const elements = 1000

// example holds two streams, and a buffer and a kernel launch for each.
type example struct {
	*demo.Demo
	side            *driver.Stream
	a, b            *driver.Buffer[uint32]
	countA, countB  *driver.Launch
	counted, copied *driver.Event
	rounds          uint32 // number of additions to each element in a launch
}

func prepare(d *demo.Demo) (*example, error) {
	e := &example{Demo: d, rounds: 20_000}
	if d.Emulated {
		e.rounds = 20
	}
	count, err := CountIn(d.Context)
	if err != nil {
		return nil, err
	}
	if e.side, err = e.NewStream(); err != nil {
		return nil, err
	}
	for _, event := range []**driver.Event{&e.counted, &e.copied} {
		if *event, err = e.newEvent(); err != nil {
			return nil, err
		}
	}
	for _, x := range []struct {
		buffer **driver.Buffer[uint32]
		launch **driver.Launch
	}{{&e.a, &e.countA}, {&e.b, &e.countB}} {
		if *x.buffer, err = demo.Memory[uint32](e.Demo, elements, 0); err != nil {
			return nil, err
		}
		if *x.launch, err = count.Op(count.Grid(elements), *x.buffer, e.rounds); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *example) newEvent(opts ...driver.EventOption) (*driver.Event, error) {
	ev, err := e.Context.NewEvent(opts...)
	if err != nil {
		return nil, err
	}
	e.Close(ev)
	return ev, nil
}

// timed measures the work on the device, between two events with timing.
func (e *example) timed(work func() error) (time.Duration, error) {
	begin, err := e.newEvent(driver.WithTiming())
	if err != nil {
		return 0, err
	}
	end, err := e.newEvent(driver.WithTiming())
	if err != nil {
		return 0, err
	}
	if err := errors.Join(e.Stream.Record(begin), work(), e.Stream.Record(end)); err != nil {
		return 0, err
	}
	if err := e.Stream.Wait(context.Background()); err != nil {
		return 0, err
	}
	return end.Elapsed(begin)
}

// unfinished returns an error if all work in the stream has finished.
func (e *example) unfinished() error {
	done, err := e.Stream.Query()
	if err != nil {
		return err
	}
	if done {
		return errors.New("a stream is done whose host function has not returned")
	}
	return nil
}
