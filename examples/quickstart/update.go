package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// updateRounds is the number of times that each update is made and undone to measure its duration.
const updateRounds = 20

// The values that updates set.
const (
	updatedScale   = 0.75
	updatedEpsilon = 0.25
)

// updateNode changes the scalar of one node in an executable graph, and checks that replays
// use it. It returns the time of one update.
func (b *bench) updateNode(r *recording, p scalars) (time.Duration, error) {
	changed := p.withLastScale(updatedScale)
	last := b.stack.residuals[len(b.stack.residuals)-1]
	costs := make([]time.Duration, 0, 2*updateRounds)
	set := func(to scalars) error {
		if err := driver.SetArg(last, residualScale, to.scale[len(to.scale)-1]); err != nil {
			return err
		}
		begin := time.Now()
		err := r.exec.Set(r.last, last)
		costs = append(costs, time.Since(begin))
		return err
	}
	for range updateRounds {
		for _, to := range []scalars{p, changed} {
			if err := set(to); err != nil {
				return 0, fmt.Errorf("update of a node: %w", err)
			}
		}
	}
	if err := b.check("updated node", changed, b.replay(r)); err != nil {
		return 0, err
	}
	return median(costs), set(p)
}

// updateGraph captures the step again with another epsilon and updates an executable graph from it,
// without a new instantiation.
func (b *bench) updateGraph(r *recording, p scalars) (cost time.Duration, err error) {
	changed := p.withEpsilon(updatedEpsilon)
	if err := b.stack.set(changed); err != nil {
		return 0, err
	}
	other, err := b.stack.capture()
	if err != nil {
		return 0, fmt.Errorf("capture for an update: %w", err)
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	costs := make([]time.Duration, 0, 2*updateRounds)
	for range updateRounds {
		for _, to := range []*graph.Graph{r.graph, other} {
			begin := time.Now()
			result, err := r.exec.Update(to)
			costs = append(costs, time.Since(begin))
			if err != nil {
				return 0, fmt.Errorf("update of the graph: %w", err)
			}
			if !result.Updated() {
				return 0, fmt.Errorf("update of the graph: %v", result)
			}
		}
	}
	if err := b.check("updated graph", changed, b.replay(r)); err != nil {
		return 0, err
	}
	return median(costs), b.stack.set(p)
}

// replay returns a function that launches the graph, which is all that the host enqueues in a step.
func (b *bench) replay(r *recording) func() error {
	return func() error { return r.exec.Launch(b.stack.stream) }
}

// withEpsilon returns a copy with another epsilon in all blocks.
func (p scalars) withEpsilon(epsilon float32) scalars {
	p.epsilon = epsilon
	return p
}

// withLastScale returns a copy with another scale in the last block.
func (p scalars) withLastScale(scale float32) scalars {
	p.scale = slices.Clone(p.scale)
	p.scale[len(p.scale)-1] = scale
	return p
}
