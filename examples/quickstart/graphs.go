package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// recording is a graph and its executable graph.
type recording struct {
	graph *graph.Graph
	exec  *graph.Exec
	last  graph.Node // node of the last block's residual launch; set only if the graph was built by hand
}

// capture records a step's operations instead of running them.
func (s *stack) capture() (*graph.Graph, error) {
	return graph.Capture(s.stream, graph.ModeGlobal, func(scope *graph.Scope) error {
		return s.enqueue(scope)
	})
}

func (s *stack) captured() (*recording, error) {
	g, err := s.capture()
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return s.instantiate(&recording{graph: g})
}

// built creates the same graph without a stream. Each operation becomes a node that depends
// on the previous one.
func (s *stack) built(c *driver.Context) (*recording, error) {
	g, err := graph.New(c)
	if err != nil {
		return nil, err
	}
	r := &recording{graph: g}
	var previous []graph.Node
	for _, op := range s.ops {
		node, err := g.Add(op, previous...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("graph by hand: %w", err), g.Close())
		}
		if op == driver.Op(s.residuals[len(s.residuals)-1]) {
			r.last = node
		}
		previous = []graph.Node{node}
	}
	return s.instantiate(r)
}

// instantiate creates the executable graph and uploads it, so that the first replay takes no
// longer than the others.
func (s *stack) instantiate(r *recording) (*recording, error) {
	exec, err := r.graph.Instantiate(graph.WithUpload(s.stream))
	if err != nil {
		return nil, errors.Join(err, r.graph.Close())
	}
	r.exec = exec
	return r, nil
}

// Close waits for the last replay first, so that both graphs are destroyed when Close returns.
func (r *recording) Close() error {
	return errors.Join(r.exec.Wait(context.Background()), r.exec.Close(), r.graph.Close())
}
