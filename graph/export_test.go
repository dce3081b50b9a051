package graph

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// AddTagged adds op as a node with CUDA's tagged parameters.
func AddTagged(g *Graph, op driver.Op, deps ...Node) (Node, error) {
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	defer g.mu.Unlock()
	p, err := tagged(op)
	if err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if err := g.addGeneric(&raw, from, nil, uintptr(len(deps)), &p); err != nil {
		return Node{}, err
	}
	if l, ok := op.(*driver.Launch); ok {
		if err := g.setAttributes(raw, l.Block().Attributes()); err != nil {
			return Node{}, err
		}
	}
	o := g.changeRefs()
	if err := o.Retain(op.Uses().Refs); err != nil {
		return Node{}, err
	}
	g.commitNew(o)
	return g.added(raw), nil
}

// BoundPlaces returns the sizes of the tables of bound nodes and numeric arguments.
func BoundPlaces(bs *Bindings) (nodes, numbers int) { return len(bs.bound), len(bs.slots) }

func BoundLen(bs *Bindings) int {
	if bs == nil {
		return 0
	}
	return len(bs.byNode)
}

// A capture into a graph must be rejected if the graph is closed between the check and the begin.
func TestCaptureIntoAGraphThatWasJustClosed(t *testing.T) {
	c := gputest.Context(t, gputest.Driver(t, emulator.New(emulator.Config{})))
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	r := &recording{into: target{g: g}, s: s, mode: ModeThreadLocal}
	if err := r.beginInto(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("began: %v", err)
	}
}
