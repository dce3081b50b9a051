package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// AddNode adds a node of any type by CUDA's tagged parameters (CUDA 12.2). Use it for nodes that this
// package has no operation for. The driver writes its results to p (an
// allocation's address, the bodies of a conditional node).
//
// The graph does not know what p refers to. It keeps alive what keep names. A child graph is
// copied: to move one, use AddChildMove.
func (g *Graph) AddNode(p *cu.CUgraphNodeParams, deps []Node, keep ...life.Ref) (Node, error) {
	if !g.exists() {
		return Node{}, aGraph.Error(g == nil)
	}
	if p == nil {
		return Node{}, invalid("cannot add a node to %v: nil parameters", g)
	}
	if err := g.lock(); err != nil {
		return Node{}, err
	}
	n, err := g.addNode(p, deps, keep)
	g.mu.Unlock()
	runtime.KeepAlive(keep)
	g.alive()
	if err != nil {
		return Node{}, fmt.Errorf("cannot add a node of type %v to %v: %w", p.Type, g, err)
	}
	return n, nil
}

func (g *Graph) addNode(p *cu.CUgraphNodeParams, deps []Node, keep []life.Ref) (Node, error) {
	if p.Type == cu.CU_GRAPH_NODE_TYPE_GRAPH && p.Graph().Ownership == cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE {
		return Node{}, invalid("a child graph that is handed over belongs to a Graph, which would destroy it as well; use AddChildMove")
	}
	from, err := g.dependencies(deps)
	if err != nil {
		return Node{}, err
	}
	o := g.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return Node{}, err
	}
	var raw cu.CUgraphNode
	if err := g.addGeneric(&raw, from, nil, uintptr(len(deps)), p); err != nil {
		o.Abandon()
		o.Flush()
		return Node{}, err
	}
	g.commitNew(o)
	n := g.added(raw)
	if p.Type == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL {
		n.enterTagged(p.Conditional())
	}
	return n, nil
}

// enterTagged makes the bodies of a node that was added by parameters known to Bodies.
func (n Node) enterTagged(p *cu.CUDA_CONDITIONAL_NODE_PARAMS) {
	if p.PhGraph_out != nil {
		n.enterBodies(form{p.Type, int(p.Size)}, Cond{n.g.outermost(), p.Handle}, p.PhGraph_out)
	}
}

// SetParams sets the node of a graph by CUDA's tagged parameters, of the node's own type (CUDA
// 12.2). The graph keeps alive what keep names, instead of what it kept for the node before.
func (n Node) SetParams(p *cu.CUgraphNodeParams, keep ...life.Ref) error {
	if err := n.lock(); err != nil {
		return fmt.Errorf("cannot set %v: %w", n, err)
	}
	err := n.g.setParams(n, p, keep)
	n.g.mu.Unlock()
	runtime.KeepAlive(keep)
	if err != nil {
		return fmt.Errorf("cannot set %v of %v: %w", n, n.g, err)
	}
	return nil
}

func (g *Graph) setParams(n Node, p *cu.CUgraphNodeParams, keep []life.Ref) error {
	if p == nil {
		return invalid("nil parameters")
	}
	o := g.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return err
	}
	err := g.d.CuGraphNodeSetParams(n.handle(), p)
	if err != nil {
		o.Abandon()
	} else {
		n.forgetParts() // a child graph is another one now
		g.accesses.Forget(n.i)
		g.commit(o, n)
	}
	o.Flush()
	return g.explainType(n, p.Type, err)
}

// SetParams is Set with CUDA's tagged parameters, of the node's own type (CUDA 12.2). The Exec
// keeps alive what keep names, instead of what it kept for the node before.
func (x *Exec) SetParams(n Node, p *cu.CUgraphNodeParams, keep ...life.Ref) error {
	if err := x.lock(); err != nil {
		return err
	}
	err := x.setParams(n, p, keep)
	x.keep.mu.Unlock()
	runtime.KeepAlive(keep)
	runtime.KeepAlive(x)
	if err != nil {
		return fmt.Errorf("cannot set %v of %v: %w", n, x, err)
	}
	return nil
}

func (x *Exec) setParams(n Node, p *cu.CUgraphNodeParams, keep []life.Ref) error {
	if p == nil {
		return invalid("nil parameters")
	}
	if err := x.has(n); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	o := x.changeRefs()
	if err := o.RetainGiven(keep); err != nil {
		return err
	}
	x.uploaded, x.changed = false, true
	err := x.d.CuGraphExecNodeSetParams(x.keep.raw, n.handle(), p)
	if err != nil {
		o.Abandon()
	} else {
		o.Commit(n.i)
	}
	x.keep.ReleaseDropped(o)
	return n.g.explainType(n, p.Type, err)
}

// explainType adds to an error that the node is of another type, if it is.
func (g *Graph) explainType(n Node, want Type, err error) error {
	if err == nil {
		return nil
	}
	var t Type
	if g.d.CuGraphNodeGetType(n.handle(), &t) != nil || t == want {
		return err
	}
	return fmt.Errorf("it is of type %v, and the parameters of type %v: %w", t, want, err)
}
