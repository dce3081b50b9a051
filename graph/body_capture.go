package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// What is captured for a graph in a node, such as the body of a conditional
// one, is captured into a graph of its own, whose nodes are then made again
// there. CUDA can capture into the graph itself, but when such a capture is
// invalidated the driver frees the graph, which the node still owns, and
// whatever touches the node next crashes the process (seen on driver 580; also
// github.com/NVIDIA/cuda-python, issue 2918). This way a capture that fails
// leaves everything as it was.

// body is what was captured for a body.
type body struct {
	g      *Graph
	last   []Node // what the next operation would have run after
	nested []planned
}

// planned is a conditional node that is to take the place of an empty one: its
// condition is of the graph that the body will be in.
type planned struct {
	at     driver.CUgraphNode
	form   form
	cond   Cond
	bodies []*body
}

// captureBody captures, on s, what will be in a graph inside a node of home.
func captureBody(home *Graph, s *driver.Stream, mode Mode, record func(*Scope) error, types typeSet) (*body, error) {
	r, err := begin(target{}, s, mode)
	if err != nil {
		return nil, err
	}
	r.home = home
	defer r.abandon()                             // record panicked or left
	defer func() { _ = closeNested(r.planned) }() // of a body that there is not
	if record != nil {
		err = record(&r.scope)
	}
	if err == nil {
		g, last, ended := r.endNodes(nil)
		if ended != nil {
			return nil, ended
		}
		if err := g.fits(types); err != nil {
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

// captureIntoPart is CaptureInto for a graph in a node.
func (g *Graph) captureIntoPart(s *driver.Stream, mode Mode, deps []Node, record func(*Scope) error) ([]Node, error) {
	vacate, err := g.occupiedBy(s, deps)
	if err != nil {
		return nil, fmt.Errorf("cannot capture into %v: %w", g, err)
	}
	b, err := g.captureFor(s, mode, record, vacate)
	if err != nil {
		return nil, err
	}
	last, err := g.takeBody(b, deps)
	if err := join([]error{err, b.close()}); err != nil {
		return nil, fmt.Errorf("cannot capture into %v: %w", g, err)
	}
	return last, nil
}

// occupiedBy has the graph refuse a second capture, and its node refuse to be
// destroyed, until what is captured on s is made here.
func (g *Graph) occupiedBy(s *driver.Stream, deps []Node) (vacate func(), err error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if g.rec != nil {
		return nil, g.rec.refuses("captured into")
	}
	if err := sameDriver(g.ctx, s); err != nil {
		return nil, err
	}
	if _, err := g.dependencies(deps); err != nil {
		return nil, err
	}
	r := &recording{s: s, g: g}
	r.where.mark()
	r.occupy()
	return r.release, nil
}

func (g *Graph) captureFor(s *driver.Stream, mode Mode, record func(*Scope) error, vacate func()) (*body, error) {
	defer vacate()
	home, types := g.outermost(), childTypes
	if g.inBody() {
		types = bodyTypes
	}
	return captureBody(home, s, mode, record, types)
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
		last = append(last, g.node(m.twins[n.raw]))
	}
	return last, nil
}
