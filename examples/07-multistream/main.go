// Command 07-multistream uses two streams: first at once, where a copy waits for
// one kernel while the next computes, then in a capture that forks to the other
// stream and joins it, so that the graph has two branches.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

//go:embed kernels.ptx
var ptx []byte

const (
	elements = 300
	rounds   = 200
)

func main() { demo.Main("07-multistream", run) }

// example has what both ways work with: two buffers to count in, and where a copy
// of the first goes.
type example struct {
	*demo.Demo
	a, b           *driver.Buffer[uint32]
	host           *driver.HostBuffer[uint32]
	countA, countB *driver.Launch
	download       *driver.CopyOp
	side           *driver.Stream
}

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

func prepare(d *demo.Demo) (e *example, err error) {
	e = &example{Demo: d}
	var count *driver.Kernel
	if err := d.Kernels(ptx, map[string]**driver.Kernel{"count": &count}); err != nil {
		return nil, err
	}
	if e.a, err = demo.Memory[uint32](d, elements, 0); err != nil {
		return nil, err
	}
	if e.b, err = demo.Memory[uint32](d, elements, 0); err != nil {
		return nil, err
	}
	if e.host, err = driver.AllocHost[uint32](d.Context, elements); err != nil {
		return nil, err
	}
	d.Close(e.host)
	cfg := demo.PerElement(elements)
	if e.countA, err = count.Prepare(cfg, e.a, uint32(elements), uint32(rounds)); err != nil {
		return nil, err
	}
	if e.countB, err = count.Prepare(cfg, e.b, uint32(elements), uint32(rounds)); err != nil {
		return nil, err
	}
	if e.download, err = driver.Download[uint32](e.host, e.a); err != nil {
		return nil, err
	}
	e.side, err = d.NewStream()
	return e, err
}

// copyWhileComputing: an event behind the first kernel lets the copy go, which
// alone is waited for, while the second kernel computes.
func (e *example) copyWhileComputing() error {
	ready, err := e.Context.NewEvent()
	if err != nil {
		return err
	}
	e.Close(ready)
	for _, step := range []func() error{
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

// forkAndJoin captures the same work without naming an event.
func (e *example) forkAndJoin() error {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		if err := sc.Do(e.countA); err != nil {
			return err
		}
		side, err := sc.Fork(e.side)
		if err != nil {
			return err
		}
		// What the two scopes record from here on may run side by side.
		return errors.Join(side.Do(e.download), sc.Do(e.countB), sc.Join(side))
	})
	if err != nil {
		return err
	}
	e.Close(g)
	branches := 0
	for _, err := range g.Edges() {
		if err != nil {
			return err
		}
		branches++
	}
	e.Printf("the captured graph has %d branches behind the first kernel", branches)
	if branches != 2 {
		return errors.New("it should have two")
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

// copied checks what the latest copy brought to the host.
func (e *example) copied(want uint32) error {
	for i, v := range e.host.Slice() {
		if v != want {
			return fmt.Errorf("wrong result: element %d of the copy is %d, it should be %d", i, v, want)
		}
	}
	return nil
}
