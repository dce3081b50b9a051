package main

import (
	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// steps is a graph of kernels that add amount to the counter. Its parameters change between
// launches.
type steps struct {
	amount uint32
	launch *driver.Launch     // a launch that is recorded many times, with a separate call each time
	arg    driver.Arg[uint32] // the launch's amount
	ops    []driver.Op        // launches that are recorded with one call; one for each step
	all    []*driver.Launch
	exec   *graph.Exec
	nodes  []graph.Node

	changes  []graph.Change // changes to every hundredth node
	bindings *graph.Bindings
	scalar   *graph.Scalar[uint32]
	amounts  []graph.Param[uint32] // bound parameters of the same nodes
}

const apart = child.Chain / 10

func (b *bench) prepareSteps() (err error) {
	s := &b.steps
	one := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	if s.launch, err = b.step.Prepare(one, b.counter, s.amount); err != nil {
		return err
	}
	if s.arg, err = driver.ArgOf[uint32](s.launch, 1); err != nil {
		return err
	}
	for range child.Chain {
		l, err := b.step.Prepare(one, b.counter, s.amount)
		if err != nil {
			return err
		}
		s.ops, s.all = append(s.ops, l), append(s.all, l)
	}
	return b.instantiateSteps()
}

func (b *bench) instantiateSteps() error {
	s := &b.steps
	g, err := graph.Capture(b.stream, graph.ModeThreadLocal, b.recordEach)
	if err != nil {
		return err
	}
	for n, err := range g.Nodes() {
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	for i := 0; i < child.Chain; i += apart {
		s.changes = append(s.changes, graph.Change{Node: s.nodes[i], Op: s.all[i]})
	}
	if s.exec, err = g.Instantiate(); err != nil {
		return err
	}
	if s.scalar, err = graph.NewScalar(b.context, s.amount); err != nil {
		return err
	}
	s.bindings = s.exec.Bindings()
	for i := 0; i < child.Chain; i += apart {
		p, err := graph.Bind[uint32](s.bindings, s.nodes[i], s.all[i], 1)
		if err != nil {
			return err
		}
		s.amounts = append(s.amounts, p)
	}
	return nil
}

// next sets the launch's argument to the next number.
func (s *steps) next(l *driver.Launch) error {
	s.amount++
	return driver.SetArg(l, 1, s.amount)
}

// recordEach records one launch a thousand times, with a separate call each time, as a loop over
// the layers of a model would.
func (b *bench) recordEach(sc *graph.Scope) error {
	s := &b.steps
	for range child.Chain {
		if err := s.next(s.launch); err != nil {
			return err
		}
		if err := sc.Do(s.launch); err != nil {
			return err
		}
	}
	return nil
}

// recordBurst records the same launches as recordEach, in a few batches.
func (b *bench) recordBurst(sc *graph.Scope) error {
	return sc.Burst(func(burst *graph.Burst) error {
		s := &b.steps
		for range child.Chain {
			s.amount++
			if err := s.arg.Set(s.amount); err != nil {
				return err
			}
			if err := burst.Do(s.launch); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordAll records a thousand prepared launches.
func (b *bench) recordAll(sc *graph.Scope) error {
	s := &b.steps
	for _, l := range s.all {
		if err := s.next(l); err != nil {
			return err
		}
	}
	return sc.Do(s.ops...)
}

func (b *bench) recapture(record func(*graph.Scope) error) func(int) error {
	return func(n int) error {
		for range n {
			g, err := graph.Capture(b.stream, graph.ModeThreadLocal, record)
			if err != nil {
				return err
			}
			if _, err := b.steps.exec.Update(g); err != nil {
				return err
			}
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	}
}

// setBound changes every hundredth node and launches the graph in one native call.
func (b *bench) setBound(n int) error {
	s := &b.steps
	for range n {
		for _, p := range s.amounts {
			s.amount++
			if err := p.Set(s.amount); err != nil {
				return err
			}
		}
		if err := s.bindings.Launch(b.stream); err != nil {
			return err
		}
	}
	return nil
}

// setScalar writes a new value to a word in device memory for each operation.
func (b *bench) setScalar(n int) error {
	s := &b.steps
	for range n {
		s.amount++
		if err := s.scalar.Set(b.stream, s.amount); err != nil {
			return err
		}
	}
	return nil
}

// setEach changes the nodes with a separate call for each, and then launches the graph.
func (b *bench) setEach(n int) error {
	s := &b.steps
	for range n {
		for i := 0; i < child.Chain; i += apart {
			if err := s.next(s.launch); err != nil {
				return err
			}
			if err := s.exec.Set(s.nodes[i], s.launch); err != nil {
				return err
			}
		}
		if err := s.exec.Launch(b.stream); err != nil {
			return err
		}
	}
	return nil
}

// setBatch changes the nodes in one batch and then launches the graph.
func (b *bench) setBatch(n int) error {
	s := &b.steps
	for range n {
		for i := 0; i < child.Chain; i += apart {
			if err := s.next(s.all[i]); err != nil {
				return err
			}
		}
		if err := s.exec.SetBatch(s.changes); err != nil {
			return err
		}
		if err := s.exec.Launch(b.stream); err != nil {
			return err
		}
	}
	return nil
}
