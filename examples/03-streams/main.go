// Command 03-streams shows streams and events. Work in one stream runs in order. Work in two
// streams may overlap. Events impose an order on it and measure time. The host can stop waiting for
// work without cancelling it.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

func main() { demo.Main("03-streams", run) }

// run shows four uses of streams. The launches countA and countB count in the buffers a and b.
func run(d *demo.Demo) error {
	e, err := prepare(d)
	if err != nil {
		return err
	}
	for _, show := range []func() error{e.inOrder, e.events, e.sideBySide, e.giveUp} {
		if err := show(); err != nil {
			return err
		}
	}
	return nil
}

// inOrder enqueues a fill, a kernel and a Go function. Each of them starts when the previous one
// has finished. The host waits only at the end.
func (e *example) inOrder() error {
	fill, err := driver.Fill[uint32](e.a, 5)
	if err != nil {
		return err
	}
	ran := false
	if err := errors.Join(
		e.Stream.Do(fill),
		e.Stream.Do(e.countA),
		e.Stream.HostFunc(func() { ran = true }),
		e.Stream.Wait(context.Background()),
	); err != nil {
		return err
	}
	if !ran {
		return errors.New("the stream was waited for, and its host function has not run")
	}
	e.Printf("one stream: a fill, a kernel and a Go function ran in this order")
	return demo.All(e.a, 5+e.rounds)
}

// events makes the copy in the second stream wait for the kernel in the first.
func (e *example) events() error {
	zero, err := driver.Fill[uint32](e.a, 0)
	if err != nil {
		return err
	}
	ab, err := driver.CopyDevice[uint32](e.b, e.a)
	if err != nil {
		return err
	}
	for _, step := range []func() error{ // stop at the first error: without its event, the copy would run too early
		func() error { return e.Stream.Do(zero) },
		func() error { return e.Stream.Do(e.countA) },
		func() error { return e.Stream.Record(e.counted) },
		func() error { return e.side.WaitEvent(e.counted) }, // the stream waits, the host does not
		func() error { return e.side.Do(ab) },
		func() error { return e.side.Do(e.countB) },
		func() error { return e.side.Record(e.copied) },
		func() error { return e.copied.Wait(context.Background()) }, // now the host waits
	} {
		if err := step(); err != nil {
			return err
		}
	}
	e.Printf("two streams: the second took over from the first at an event, and counted on to %d", 2*e.rounds)
	return demo.All(e.b, 2*e.rounds)
}

// sideBySide times two kernels in one stream, and then in two streams.
func (e *example) sideBySide() error {
	one, err := e.timed(func() error { return errors.Join(e.Stream.Do(e.countA), e.Stream.Do(e.countB)) })
	if err != nil {
		return err
	}
	two, err := e.timed(func() error {
		// s.After(t) records an event in stream t and makes stream s wait for it, so later work in
		// s runs after all earlier work in t.
		return errors.Join(e.side.After(e.Stream), e.side.Do(e.countB), e.Stream.Do(e.countA), e.Stream.After(e.side))
	})
	if err != nil {
		return err
	}
	e.Printf("two kernels took %v in one stream and %v in two", one, two)
	return demo.All(e.a, 3*e.rounds)
}

// giveUp waits with a context whose deadline is before the end of the work. The work is not
// cancelled.
func (e *example) giveUp() (err error) {
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
	e.Printf("a wait was given up after 1 ms: %v", given)
	return e.unfinished()
}
