package main

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

const elements = 1000

type example struct {
	*demo.Demo
	affine Affine // the kernel in kernels.go
	x      *driver.Buffer[float32]
}

// graph captures one kernel launch for each step.
func (e *example) graph(steps ...float32) (*graph.Graph, error) {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		for _, s := range steps {
			op, err := e.launch(s)
			if err != nil {
				return err
			}
			if err := sc.Do(op); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.Close(g)
	}
	return g, err
}

func (e *example) launch(step float32) (*driver.Launch, error) {
	return e.affine.Op(e.affine.Grid(elements), e.x, 2, step)
}

// replay sets every element to the value from, runs the graph and checks the result.
func (e *example) replay(exec *graph.Exec, what string, from, want float32) error {
	if err := e.x.Fill(from); err != nil {
		return err
	}
	if err := exec.Run(context.Background(), e.Stream); err != nil {
		return err
	}
	if err := demo.All(e.x, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	e.Printf("%s: every element is %v", what, want)
	return nil
}
