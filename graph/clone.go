package graph

import (
	"fmt"
	"maps"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Clone returns a copy of the graph as it is now. The copy keeps alive what the graph does. Graphs
// with memory nodes or conditional nodes cannot be cloned.
func (g *Graph) Clone() (*Graph, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if err := g.noConditionals("cannot be cloned"); err != nil {
		return nil, err
	}
	k, err := newKeep(g.ctx, "graph")
	if err != nil {
		return nil, err
	}
	var raw driver.CUgraph
	if err := g.d.CuGraphClone(&raw, g.raw); err != nil {
		return nil, k.abandon(fmt.Errorf("clone of %v: %w", g, g.memoryLimit(err, noClone)))
	}
	// Which node of the clone corresponds to which the driver knows and nobody
	// has asked: the clone's nodes are found as they are needed, and what they
	// refer to is kept as long as the clone.
	k.refs.Release()
	k.refs = g.keep.refs.Share().Writable()
	k.refs.Loosen()
	twin := own(g.ctx, k, raw)
	twin.mixed = g.outermost().mixed
	twin.users = maps.Clone(g.users)
	twin.accesses.CopiedFrom(g.accesses)
	return twin, nil
}

// FindInClone returns the node of clone that corresponds to n. The clone must have been created
// from n's graph after n was added.
func (n Node) FindInClone(clone *Graph) (Node, error) {
	if n.g == nil {
		return Node{}, errNoNode
	}
	unlock, err := lockBoth(n.g, clone)
	if err != nil {
		return Node{}, err
	}
	defer unlock()
	if err := n.g.check(n); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	err = clone.d.CuGraphNodeFindInClone(&raw, n.handle(), clone.raw)
	n.g.alive()
	if err != nil {
		return Node{}, fmt.Errorf("node %d of %v has no copy in %v: %w", n.i, n.g, clone, err)
	}
	return clone.node(raw), nil
}
