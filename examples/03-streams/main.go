// Command 03-streams shows what streams and events do: work in one stream runs
// in order, two streams run side by side, events order them and take the time,
// and the host waits as long as it likes.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

//go:embed kernels.ptx
var ptx []byte

const elements = 1000

func main() { demo.Main("03-streams", run) }

// example has two streams, and for each a buffer that a kernel counts in.
type example struct {
	*demo.Demo
	side           *driver.Stream
	a, b           *driver.Buffer[uint32]
	countA, countB *driver.Launch
	rounds         uint32 // that a kernel counts
}

func run(d *demo.Demo) error {
	e := &example{Demo: d, rounds: 20_000}
	if d.Emulated {
		e.rounds = 20
	}
	if err := e.prepare(); err != nil {
		return err
	}
	for _, show := range []func() error{e.inOrder, e.events, e.sideBySide, e.patience} {
		if err := show(); err != nil {
			return err
		}
	}
	return nil
}

func (e *example) prepare() (err error) {
	var count *driver.Kernel
	if err := e.Kernels(ptx, map[string]**driver.Kernel{"count": &count}); err != nil {
		return err
	}
	if e.side, err = e.NewStream(); err != nil {
		return err
	}
	for _, x := range []struct {
		buffer **driver.Buffer[uint32]
		launch **driver.Launch
	}{{&e.a, &e.countA}, {&e.b, &e.countB}} {
		if *x.buffer, err = demo.Memory[uint32](e.Demo, elements, 0); err != nil {
			return err
		}
		if *x.launch, err = count.Prepare(demo.PerElement(elements), *x.buffer, uint32(elements), e.rounds); err != nil {
			return err
		}
	}
	return nil
}

// inOrder: a fill, a kernel, a function on the host. Each begins when the one
// before has ended, and nothing but the last line waits.
func (e *example) inOrder() error {
	fill, err := driver.Fill[uint32](e.a, 5)
	if err != nil {
		return err
	}
	ran := false
	err = e.inStream(e.Stream, fill, e.countA)
	if err == nil {
		err = e.Stream.HostFunc(func() { ran = true })
	}
	if err = errors.Join(err, e.Stream.Wait(context.Background())); err != nil {
		return err
	}
	if !ran {
		return errors.New("the stream was waited for, and its host function has not run")
	}
	e.Printf("one stream: a fill, a kernel and a Go function ran in this order")
	return demo.All(e.a, 5+e.rounds)
}

func (e *example) inStream(s *driver.Stream, ops ...driver.Op) error {
	for _, op := range ops {
		if err := s.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// events: the second stream does its part between two points of the first.
func (e *example) events() error {
	filled, err := e.newEvent()
	if err != nil {
		return err
	}
	copied, err := e.newEvent()
	if err != nil {
		return err
	}
	clear, err := driver.Fill[uint32](e.a, 0)
	if err != nil {
		return err
	}
	ab, err := driver.CopyDevice[uint32](e.b, e.a)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return e.inStream(e.Stream, clear, e.countA) },
		func() error { return e.Stream.Record(filled) },
		func() error { return e.side.WaitEvent(filled) }, // the stream waits, not the host
		func() error { return e.inStream(e.side, ab, e.countB) },
		func() error { return e.side.Record(copied) },
		func() error { return copied.Wait(context.Background()) }, // here the host does
	} {
		if err := step(); err != nil {
			return err
		}
	}
	e.Printf("two streams: the second took over from the first at an event, and counted on to %d", 2*e.rounds)
	return demo.All(e.b, 2*e.rounds)
}

func (e *example) newEvent(opts ...driver.EventOption) (*driver.Event, error) {
	ev, err := e.Context.NewEvent(opts...)
	if err != nil {
		return nil, err
	}
	e.Close(ev)
	return ev, nil
}

// sideBySide takes the time of two kernels in one stream, and in two.
func (e *example) sideBySide() error {
	one, err := e.timed(func() error { return e.inStream(e.Stream, e.countA, e.countB) })
	if err != nil {
		return err
	}
	two, err := e.timed(func() error {
		// After is an event that is recorded in one stream and waited for in the
		// other.
		return errors.Join(e.side.After(e.Stream), e.side.Do(e.countB), e.Stream.Do(e.countA), e.Stream.After(e.side))
	})
	if err != nil {
		return err
	}
	e.Printf("two kernels took %v in one stream and %v in two", one, two)
	return demo.All(e.a, 3*e.rounds)
}

// timed is what work takes on the device, from one event to another.
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

// patience: a wait ends with its context. The work goes on.
func (e *example) patience() (err error) {
	gate := make(chan struct{})
	if err := e.Stream.HostFunc(func() { <-gate }); err != nil {
		return err
	}
	defer func() {
		close(gate)
		err = errors.Join(err, e.Stream.Wait(context.Background()))
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	given := e.Stream.Wait(ctx)
	if !errors.Is(given, context.DeadlineExceeded) {
		return fmt.Errorf("a wait for work that goes on ended: %w", given)
	}
	done, err := e.Stream.Query()
	if err != nil {
		return err
	}
	if done {
		return errors.New("a stream is done whose host function has not returned")
	}
	e.Printf("a wait was given up after 1 ms: %v", given)
	return nil
}
