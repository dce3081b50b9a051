package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/captures"
)

// The body of a conditional node is captured into a graph of its own, whose
// nodes are then made again in the body. CUDA can capture into the body itself,
// but when such a capture is invalidated the driver frees the graph that the
// node still owns, and whatever touches the node next crashes the process (seen
// on driver 580; also github.com/NVIDIA/cuda-python, issue 2918). This way a
// body that fails leaves everything as it was.

// body is what was captured for a body.
type body struct {
	g      *Graph
	last   []Node // what the next operation would have run after
	nested []planned
}

// planned is a conditional node that is to take the place of an empty one: its
// condition is of the graph that the body will be in.
type planned struct {
	at     cu.CUgraphNode
	form   form
	cond   Cond
	bodies []*body
}

// captureBody captures, on s, a body that will be in a graph of home.
func captureBody(home *Graph, s *driver.Stream, mode Mode, record func(*Scope) error) (*body, error) {
	if record == nil {
		record = func(*Scope) error { return nil }
	}
	r, err := beginAt(target{}, s, mode, captures.EntryOf(record))
	if err != nil {
		return nil, err
	}
	r.home = home
	defer r.abandon()                             // record panicked or left
	defer func() { _ = closeNested(r.planned) }() // of a body that there is not
	if err = record(&r.scope); err == nil {
		g, last, ended := r.endNodes(nil)
		if ended != nil {
			return nil, ended
		}
		if err := g.fitsBody(); err != nil {
			return nil, join([]error{err, g.Close()})
		}
		b := &body{g, last, r.planned}
		r.planned = nil
		return b, nil
	}
	_, err = r.end(err)
	return nil, err
}

func closeNested(list []planned) error {
	var errs []error
	for _, p := range list {
		errs = append(errs, closeBodies(p.bodies))
	}
	return join(errs)
}

func closeBodies(bodies []*body) error {
	var errs []error
	for _, b := range bodies {
		errs = append(errs, b.close())
	}
	return join(errs)
}

func (b *body) close() error {
	return join([]error{closeNested(b.nested), b.g.Close()})
}

// captureIntoBody captures into the body of a conditional node.
func (g *Graph) captureIntoBody(s *driver.Stream, mode Mode, deps []Node, record func(*Scope) error) ([]Node, error) {
	b, err := captureBody(g.outermost(), s, mode, record)
	if err != nil {
		return nil, err
	}
	last, err := g.takeBody(b, deps)
	b.g.endAs(fmt.Errorf("%v was recorded for %v, whose nodes are made anew: take those of WithLast, or that Nodes lists: %w", b.g, g, driver.ErrClosed))
	if err := join([]error{err, b.close()}); err != nil {
		return nil, fmt.Errorf("cannot capture %v into %v: %w", s, g, err)
	}
	return last, nil
}

// takeBody makes the nodes of a body in g, behind deps.
func (g *Graph) takeBody(b *body, deps []Node) (last []Node, err error) {
	unlock, err := lockBoth(g, b.g)
	if err != nil {
		return nil, err
	}
	defer unlock()
	from, err := g.dependencies(deps)
	if err != nil {
		return nil, err
	}
	m := newMover(b.g, g)
	if err := m.move(b, from, len(deps)); err != nil {
		return nil, join([]error{err, m.undo()})
	}
	for _, n := range b.last {
		last = append(last, g.node(m.twins[n.handle()]))
	}
	return last, nil
}
