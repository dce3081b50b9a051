package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// captureIntoPart captures into a graph that lies in a node. If CUDA captured into it and failed, it
// would destroy a graph that the node refers to, and the next use of the node would crash the
// process (seen on driver 580). So what is recorded becomes a child graph in the part.
func (t *target) captureIntoPart(s *driver.Stream, mode Mode, record func(*Scope) error) (*Graph, error) {
	g := t.g
	if err := g.takes(s, t.deps); err != nil {
		return nil, fmt.Errorf("cannot capture %v into %v: %w", s, g, err)
	}
	if g.isBody() {
		last, err := g.captureIntoBody(s, mode, t.deps, record)
		if err != nil {
			return nil, err
		}
		t.ended(last)
		return g, nil
	}
	child, err := Capture(s, mode, record)
	if err != nil {
		return nil, err
	}
	n, err := g.AddChild(child, t.deps...)
	if err := join([]error{err, child.Close()}); err != nil {
		return nil, err
	}
	t.ended([]Node{n})
	return g, nil
}

// takes says before anything is recorded what would be in the way of it.
func (g *Graph) takes(s *driver.Stream, deps []Node) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	_, err := g.dependencies(deps)
	return join([]error{err, sameDriver(g.ctx, s, s.Context())})
}

// joinAll joins the forks of a capture into a graph that the program forgot, and
// says so: the driver would destroy the graph. It cannot where the capture was
// invalidated, which has the same end.
func (r *recording) joinAll() (err error) {
	if r.into.g == nil {
		return nil
	}
	for _, b := range r.branches[1:] {
		if b.open {
			_ = b.order(r.s) // if it fails, so does the end of the capture
			err = driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
		}
	}
	return err
}
