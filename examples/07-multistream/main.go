// Command 07-multistream overlaps a copy with a kernel by using two streams. First it enqueues the
// work: the copy waits for one kernel and overlaps the next. Then it captures the same work with a
// fork to the second stream and a join, so the graph has two branches.
package main

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

func main() { demo.Main("07-multistream", run) }

// run does the same work twice. The kernels countA and countB count in the buffers a and b,
// and download copies a to the host.
func run(d *demo.Demo) error {
	e, err := prepare(d)
	if err != nil {
		return err
	}
	if err := e.copyWhileComputing(); err != nil {
		return err
	}
	return e.forkAndJoin()
}

// copyWhileComputing records an event after the first kernel. The copy in the second stream
// waits only for that event, so it can overlap the second kernel.
func (e *example) copyWhileComputing() error {
	ready, err := e.Context.NewEvent()
	if err != nil {
		return err
	}
	e.Close(ready)
	for _, step := range []func() error{ // stop at the first error: without its event, the copy would run too early
		func() error { return e.Stream.Do(e.countA) },
		func() error { return e.Stream.Record(ready) },
		func() error { return e.Stream.Do(e.countB) },
		func() error { return e.side.WaitEvent(ready) },
		func() error { return e.side.Do(e.download) },
		func() error { return e.side.Wait(context.Background()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := e.copied(rounds); err != nil {
		return err
	}
	done, err := e.Stream.Query()
	if err != nil {
		return err
	}
	e.Printf("the copy of the first result is here; the second kernel is done: %v", done)
	if err := e.Stream.Wait(context.Background()); err != nil {
		return err
	}
	return demo.All(e.b, rounds)
}

// forkAndJoin captures the same work. Fork and Join order the streams without explicit
// events.
func (e *example) forkAndJoin() error {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		if err := sc.Do(e.countA); err != nil {
			return err
		}
		side, err := sc.Fork(e.side)
		if err != nil {
			return err
		}
		// Work recorded on side may overlap work recorded on sc until Join.
		return errors.Join(side.Do(e.download), sc.Do(e.countB), sc.Join(side))
	})
	if err != nil {
		return err
	}
	e.Close(g)
	if err := e.branches(g); err != nil {
		return err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	e.Close(exec)
	for i := range 3 {
		if err := exec.Run(context.Background(), e.Stream); err != nil {
			return err
		}
		if err := e.copied(uint32(i+2) * rounds); err != nil {
			return err
		}
	}
	e.Printf("3 replays: each copied what its own first kernel counted, up to %d", 4*rounds)
	return demo.All(e.b, 4*rounds)
}
