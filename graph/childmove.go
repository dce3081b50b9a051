package graph

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// AddChildMove adds a node that runs child itself, without a copy (CUDA 12.9). child becomes a part
// of g: it is destroyed with the node, its Close does nothing, and its nodes stay valid. Unlike a
// copied child, it may contain memory nodes. It cannot be instantiated, added again or used to
// update an Exec, and no further memory nodes can be added. On error, child is unchanged.
//
// No other goroutine may add child to another graph concurrently.
func (g *Graph) AddChildMove(child *Graph, deps ...Node) (Node, error) {
	if _, err := lockBoth(g, child); err != nil {
		return Node{}, fmt.Errorf("cannot hand over a child graph: %w", err)
	}
	mine, its := g.mu, child.mu // child's is another one afterwards
	n, err := g.addChildMove(child, deps)
	its.Unlock()
	mine.Unlock()
	g.alive()
	child.alive()
	if err != nil {
		return Node{}, fmt.Errorf("cannot hand %v over to %v: %w", child, g, err)
	}
	return n, nil
}

// ownedChildren is when drivers began to know who owns a child graph. Older ones
// take no notice of the field.
const ownedChildren = 12090

func (g *Graph) addChildMove(child *Graph, deps []Node) (Node, error) {
	if child.part {
		return Node{}, invalid("it lies in %v of %v already", child.in, child.in.g)
	}
	if err := child.noConditionals("cannot be handed over"); err != nil {
		return Node{}, err
	}
	if child.rec != nil {
		return Node{}, child.rec.refuses("handed over")
	}
	if child.keep.borrowed {
		return Node{}, refuse(driver.CUDA_ERROR_INVALID_VALUE, "it is borrowed, and its owner destroys it: add a copy with AddChild")
	}
	if err := sameDriver(g.ctx, child, child.ctx); err != nil {
		return Node{}, err
	}
	if err := needs(g.d, "moving a child graph into its node", ownedChildren); err != nil {
		return Node{}, err
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	p := cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
	*p.Graph() = cu.CUDA_CHILD_GRAPH_NODE_PARAMS{Graph: child.raw, Ownership: cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE}
	var raw cu.CUgraphNode
	if err := g.addGeneric(&raw, from, nil, uintptr(len(deps)), &p); err != nil {
		return Node{}, explainMove(err)
	}
	o := g.changeRefs()
	o.RetainOf(child.keep.refs)
	g.commitNew(o)
	n := g.added(raw)
	n.takeOver(child)
	return n, nil
}

// explainMove adds why a driver that knows of owned children does not take one.
func explainMove(err error) error {
	if errors.Is(err, driver.ErrNotSupported) {
		return fmt.Errorf("a graph with conditional nodes cannot be handed over, if that is what it has: %w", err)
	}
	return err
}

// onlyWhole refuses what CUDA does with whole graphs only, not with those that lie
// in a node.
func (g *Graph) onlyWhole(code driver.CUresult, what string) error {
	if !g.part {
		return nil
	}
	return refuse(code, "%v lies in %v of %v and cannot be %s by itself", g, g.in, g.in.g, what)
}

// takeOver makes a graph, and the graphs in its nodes, parts of the one that n is
// in. Both are locked, and n's graph holds what the graph kept alive.
func (n Node) takeOver(child *Graph) {
	outer := n.g.outermost()
	own := child.keep.refs
	child.life.Disown() // the driver destroys it with the node
	child.outer, child.in, child.part, child.moved = outer, n, true, true
	outer.mixed = outer.mixed || child.mixed
	outer.enterPart(child)
	for _, p := range child.parts {
		p.outer = outer
		outer.enterPart(p)
	}
	child.parts = nil
	outer.takeUsers(child)
	own.Release()
}

func (g *Graph) enterPart(p *Graph) {
	if g.parts == nil {
		g.parts = make(map[driver.CUgraph]*Graph)
	}
	g.parts[p.raw] = p
	p.life, p.keep = g.life, g.keep
	atomic.StoreUint64(&p.seq, g.seq)
	p.setLatch(g.mu)
}

// SetChild sets the child of a child graph node to a copy of child (CUDA 12.2). The graph that
// ChildGraph returned before is closed.
func (n Node) SetChild(child *Graph) error {
	if n.g == nil {
		return errNoNode
	}
	unlock, err := lockBoth(n.g, child)
	if err != nil {
		return fmt.Errorf("cannot set the child graph of %v: %w", n, err)
	}
	defer unlock()
	if err := n.setChild(child); err != nil {
		return fmt.Errorf("cannot set the child graph of %v of %v: %w", n, n.g, err)
	}
	return nil
}

func (n Node) setChild(child *Graph) error {
	if err := n.g.check(n); err != nil {
		return err
	}
	if err := sameDriver(n.g.ctx, child, child.ctx); err != nil {
		return err
	}
	if err := child.onlyWhole(driver.CUDA_ERROR_NOT_SUPPORTED, "added to another graph"); err != nil {
		return err
	}
	p := cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
	p.Graph().Graph = child.raw
	if err := n.g.d.CuGraphNodeSetParams(n.handle(), &p); err != nil {
		return n.g.explainType(n, p.Type, err)
	}
	n.forgetParts()
	n.g.accesses.Forget(n.i)
	n.g.accesses.AdoptChild(n.i, child.accesses)
	o := n.g.changeRefs()
	o.RetainOf(child.keep.refs)
	n.g.commit(o, n)
	o.Flush()
	child.alive()
	return nil
}
