package main

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

const replays = 3

// scratch creates a graph that allocates and frees its temporary memory. The addresses are fixed
// when the nodes are added. The graph has memory at these addresses only from the allocation to the
// free.
func (e *example) scratch() error {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, e.record)
	if err != nil {
		return err
	}
	e.Close(g)
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	e.Close(exec)
	n, err := g.Len()
	if err != nil {
		return err
	}
	for range replays {
		if err := e.out.Fill(0); err != nil {
			return err
		}
		if err := exec.Run(context.Background(), e.Stream); err != nil {
			return err
		}
		if err := e.is(7); err != nil {
			return err
		}
	}
	e.Printf("in a graph: %d nodes, two of them allocate and two free; %d replays", n, replays)
	return nil
}

// record captures the same work that inOrder enqueues in a stream.
func (e *example) record(sc *graph.Scope) error {
	var tmp [2]*driver.Buffer[float32]
	for i := range tmp {
		op, err := driver.NewAlloc[float32](e.Context, nil, elements)
		if err != nil {
			return err
		}
		if tmp[i], err = graph.Allocate(sc, op); err != nil {
			return err
		}
		e.Close(tmp[i]) // closes only the handle, because the graph owns the memory
	}
	ops, err := e.program(tmp[0], tmp[1])
	if err != nil {
		return err
	}
	for _, op := range ops {
		if err := sc.Do(op); err != nil {
			return err
		}
	}
	for _, b := range tmp {
		free, err := driver.NewFree(b)
		if err != nil {
			return err
		}
		if err := sc.Free(free); err != nil {
			return err
		}
	}
	return nil
}

// output creates a graph that allocates its result and does not free it, so that the program can
// read the result. With WithAutoFree, each launch frees the previous launch's allocation.
func (e *example) output() error {
	g, err := graph.New(e.Context)
	if err != nil {
		return err
	}
	e.Close(g)
	op, err := driver.NewAlloc[float32](e.Context, nil, elements)
	if err != nil {
		return err
	}
	result, alloc, err := graph.AddAlloc(g, op)
	if err != nil {
		return err
	}
	e.Close(result)
	fill, err := driver.Fill(result, float32(3))
	if err != nil {
		return err
	}
	if _, err := g.Add(fill, alloc); err != nil {
		return err
	}
	exec, err := g.Instantiate(graph.WithAutoFree())
	if err != nil {
		return err
	}
	e.Close(exec)
	for range replays {
		if err := exec.Run(context.Background(), e.Stream); err != nil {
			return err
		}
	}
	got := make([]float32, elements)
	if err := result.CopyTo(got); err != nil {
		return err
	}
	for i, v := range got {
		if v != 3 {
			return fmt.Errorf("wrong result: element %d is %v, it should be 3", i, v)
		}
	}
	return e.afterwards(result)
}

// afterwards frees the result and trims the graph memory. The driver manages graph memory in large
// blocks, separately from pools. It keeps freed blocks for later launches until they are trimmed.
func (e *example) afterwards(result *driver.Buffer[float32]) error {
	dev := e.Context.Device()
	left, err := dev.GraphMemStats()
	if err != nil {
		return err
	}
	if err := e.Stream.FreeGraphMemory(result); err != nil {
		return err
	}
	if err := e.Context.Synchronize(context.Background()); err != nil {
		return err
	}
	if err := dev.TrimGraphMem(); err != nil {
		return err
	}
	trimmed, err := dev.GraphMemStats()
	if err != nil {
		return err
	}
	e.Printf("memory of graphs, with the output of %d replays: %d KiB in use, %d KiB reserved; freed and trimmed: %d and %d",
		replays, left.Used>>10, left.Reserved>>10, trimmed.Used>>10, trimmed.Reserved>>10)
	if left.Used < elements*4 || trimmed.Used > left.Used-elements*4 || trimmed.Reserved > left.Reserved-elements*4 {
		return fmt.Errorf("that is not the memory that the graph allocated: %+v, %+v", left, trimmed)
	}
	return nil
}
