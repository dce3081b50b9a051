package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// AddTagged adds an operation by the parameters for nodes of any type.
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
		if err := g.setAttributes(raw, l.Attributes()); err != nil {
			return Node{}, err
		}
	}
	o := g.changeRefs()
	if err := o.Retain(op.Refs()); err != nil {
		return Node{}, err
	}
	g.commitNew(o)
	return g.added(raw), nil
}

// BoundPlaces returns how many nodes and numbers bindings have room for.
func BoundPlaces(bs *Bindings) (nodes, numbers int) { return len(bs.bound), len(bs.slots) }

// BoundLen returns the number of bound arguments.
func BoundLen(bs *Bindings) int {
	if bs == nil {
		return 0
	}
	return len(bs.byNode)
}
