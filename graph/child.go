package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// AddChild adds a node that runs a copy of child as it is now. Later changes of child do not affect
// the copy. To change the copy, use the node's ChildGraph.
func (g *Graph) AddChild(child *Graph, deps ...Node) (Node, error) {
	unlock, err := lockBoth(g, child)
	if err != nil {
		return Node{}, fmt.Errorf("cannot add a child graph: %w", err)
	}
	defer unlock()
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, fmt.Errorf("cannot add %v to %v: %w", child, g, err)
	}
	return g.addChild(child, from, nil, uintptr(len(deps)))
}

// addChild is AddChild for two graphs that are locked.
func (g *Graph) addChild(child *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
	if err := sameDriver(g.ctx, child, child.ctx); err != nil {
		return Node{}, fmt.Errorf("cannot add a child graph to %v: %w", g, err)
	}
	if err := child.onlyWhole(driver.CUDA_ERROR_NOT_SUPPORTED, "added to another graph"); err != nil {
		return Node{}, err
	}
	if err := child.noConditionals("cannot be a child graph"); err != nil {
		return Node{}, err
	}
	raw, err := g.addChildRaw(child, from, data, n)
	if err != nil {
		return Node{}, fmt.Errorf("cannot add %v to %v: %w", child, g, child.memoryLimit(err, noCopy))
	}
	g.outermost().mixed = g.outermost().mixed || child.outermost().mixed
	o := g.changeRefs()
	o.RetainOf(child.keep.refs)
	g.commitNew(o)
	node := g.added(raw)
	g.accesses.AdoptChild(node.i, child.accesses)
	return node, nil
}

// addChildRaw makes the call; edge data takes the one for all types of nodes.
func (g *Graph) addChildRaw(child *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (raw cu.CUgraphNode, err error) {
	if data == nil {
		err = g.d.CuGraphAddChildGraphNode(&raw, g.raw, from, n, child.raw)
		return raw, err
	}
	p := cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
	p.Graph().Graph = child.raw
	err = g.addGeneric(&raw, from, data, n, &p)
	return raw, err
}

// ChildGraph returns the graph inside a child graph node, to inspect or change it. It lives in the
// node.
func (n Node) ChildGraph() (*Graph, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	var raw driver.CUgraph
	if err := n.g.d.CuGraphChildGraphNodeGetGraph(n.handle(), &raw); err != nil {
		return nil, fmt.Errorf("graph in node %d of %v: %w", n.i, n.g, err)
	}
	return n.inside(raw), nil
}

// SetChild sets the parameters of a child graph node of an Exec to those of child, whose nodes must
// match those of the graph in the node, as for Update.
func (x *Exec) SetChild(n Node, child *Graph) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	if n.g != x.g {
		return fmt.Errorf("cannot set a child graph of %v: %w", x, x.foreignNode(n))
	}
	unlock, err := lockBoth(n.g, child)
	if err != nil {
		return fmt.Errorf("cannot set a child graph of %v: %w", x, err)
	}
	defer unlock()
	if err := n.g.check(n); err != nil {
		return fmt.Errorf("cannot set a child graph of %v: %w", x, err)
	}
	if err := sameDriver(n.g.ctx, child, child.ctx); err != nil {
		return fmt.Errorf("cannot set a child graph of %v: %w", x, err)
	}
	x.uploaded, x.changed = false, true
	if err := x.d.CuGraphExecChildGraphNodeSetParams(x.keep.raw, n.handle(), child.raw); err != nil {
		return fmt.Errorf("cannot set node %d of %v to %v: %w", n.i, x, child, err)
	}
	o := x.changeRefs()
	o.RetainOf(child.keep.refs)
	o.Commit(n.i)
	x.keep.ReleaseDropped(o)
	return nil
}
