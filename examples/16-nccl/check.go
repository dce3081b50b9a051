package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/view"
)

// targetOf returns the target of the device with the given rank.
func targetOf(rank int) []float32 {
	list := make([]float32, parameters)
	for i := range list {
		list[i] = float32((i*(rank+1) + 7*rank) % 64)
	}
	return list
}

// check compares the parameters on every device with the reference.
func (t *training) check() error {
	want := t.reference()
	got := make([]float32, parameters)
	for rank, w := range t.w {
		if err := w.CopyTo(got); err != nil {
			return err
		}
		for i, v := range got {
			if !(math.Abs(float64(v)-want[i]) < 1e-4) {
				return fmt.Errorf("wrong result: parameter %d of rank %d is %v, it should be %v", i, rank, v, want[i])
			}
		}
	}
	t.Printf("after %d steps the parameters are right on all %d devices", replays+1, len(t.w))
	return nil
}

// reference returns the expected parameters. Each step moves them by the same fraction of
// the remaining distance to the mean of the targets.
func (t *training) reference() []float64 {
	gone := 1 - math.Pow(1-rate, replays+1)
	want := make([]float64, parameters)
	for rank := range t.w {
		for i, v := range targetOf(rank) {
			want[i] += gone * float64(v) / float64(len(t.w))
		}
	}
	return want
}

// describe prints a summary of the captured graph. It checks that the graph contains NCCL's nodes
// in addition to the nodes of the program's own operations.
func (t *training) describe(g *graph.Graph) error {
	s, err := g.Snapshot()
	if err != nil {
		return err
	}
	t.Printf("captured one graph over all devices: %v", view.Summarize(s))
	if len(s.Nodes) <= len(t.before)+len(t.after) {
		return errors.New("the all-reduce is not in the graph")
	}
	return nil
}
