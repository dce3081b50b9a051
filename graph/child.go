package graph

import (
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
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

// addChild does the work of AddChild. The caller must hold the locks of both graphs.
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

// addChildRaw adds the node in the driver. Edge data requires the generic call.
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

// ChildGraph returns the graph inside a child graph node, to inspect or change it. The graph lives
// as long as the node.
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

// SetChild sets the parameters of the nodes inside child graph node n of an Exec to those of
// child's nodes. The nodes must match as for Update.
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
	x.keep.turns |= memoryChanged
	o.Commit(n.i)
	x.keep.ReleaseDropped(o)
	return nil
}

// AddChildMove adds a node that runs child itself, without a copy (CUDA 12.9). child becomes part
// of g: it is destroyed with the node, its Close does nothing, and its nodes stay valid. Unlike a
// copied child, it may contain memory nodes. It cannot be instantiated, added again or used to
// update an Exec, and no further memory nodes can be added. On error, child is unchanged.
//
// No other goroutine may add child to another graph concurrently.
func (g *Graph) AddChildMove(child *Graph, deps ...Node) (Node, error) {
	if _, err := lockBoth(g, child); err != nil {
		return Node{}, fmt.Errorf("cannot hand over a child graph: %w", err)
	}
	mine, its := g.mu, child.mu // addChildMove changes child.mu
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

// ownedChildren is the first driver version that can move a child graph into its node. Older
// drivers ignore the Ownership field.
const ownedChildren = 12090

func (g *Graph) addChildMove(child *Graph, deps []Node) (Node, error) {
	if child.part {
		return Node{}, invalid("it is already in %v of %v", child.in, child.in.g)
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

// explainMove adds the likely reason if a driver that can move children does not support one.
func explainMove(err error) error {
	if errors.Is(err, driver.ErrNotSupported) {
		return fmt.Errorf("a graph with conditional nodes cannot be handed over, and this one may have some: %w", err)
	}
	return err
}

// onlyWhole returns an error with code if g is nested. It is for operations that CUDA supports only
// on outermost graphs.
func (g *Graph) onlyWhole(code driver.CUresult, what string) error {
	if !g.part {
		return nil
	}
	return refuse(code, "%v is in %v of %v and cannot be %s on its own", g, g.in, g.in.g, what)
}

// takeOver makes child, and the graphs nested in it, part of n's graph, which already retains
// everything that child retains. The caller must hold the locks of both graphs.
func (n Node) takeOver(child *Graph) {
	outer := n.g.outermost()
	own := child.keep.refs
	child.life.Disown() // the driver destroys child with the node
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

// SetChild sets the child of a child graph node to a copy of child (CUDA 12.2). It closes the graph
// that ChildGraph returned for the previous child.
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

// Clone returns a copy of the graph in its current state. The copy keeps alive the same objects as
// the graph. Graphs with memory nodes or conditional nodes cannot be cloned.
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
	// The clone looks up its nodes on demand. So it retains the graph's references as a whole until
	// it is closed, not per node.
	k.refs.Release()
	k.refs = g.keep.refs.Share().Writable()
	k.refs.Loosen()
	clone := own(g.ctx, k, raw)
	clone.mixed = g.outermost().mixed
	clone.users = maps.Clone(g.users)
	clone.accesses.CopiedFrom(g.accesses)
	return clone, nil
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

// inside returns a graph nested in n: the copy in a child graph node, or a body of a conditional
// node. It returns the same Graph each time, which keeps the names and other records of the nodes.
func (n Node) inside(raw driver.CUgraph) *Graph {
	g, outer := n.g, n.g.outermost()
	if p := outer.parts[raw]; p != nil {
		return p
	}
	p := &Graph{seq: g.seq, life: g.life, ctx: g.ctx, d: g.d, raw: raw,
		keep: g.keep, part: true, mu: g.mu, v2: g.v2, outer: outer, in: n}
	if outer.parts == nil {
		outer.parts = make(map[driver.CUgraph]*Graph)
	}
	outer.parts[raw] = p
	p.accesses = &access.Sets{Loose: g.accesses.InNode(n.i)}
	return p
}

func (g *Graph) outermost() *Graph {
	if g.part {
		return g.outer
	}
	return g
}

// forgetParts marks the graphs nested in n as closed. The driver has destroyed them and may reuse
// their handles.
func (n Node) forgetParts() {
	outer := n.g.outermost()
	outer.removals++
	outer.conds.forgetConditionals(n)
	for raw, p := range outer.parts {
		if p.within(n) {
			p.shut = true
			delete(outer.parts, raw)
		}
	}
}

// within reports whether g is nested in n, at any depth.
func (g *Graph) within(n Node) bool {
	for ; g.part; g = g.in.g {
		if g.in == n {
			return true
		}
	}
	return false
}

// inBody reports whether g is nested in a conditional node, at any depth.
func (g *Graph) inBody() bool {
	for ; g.part; g = g.in.g {
		if g.outer.conds.of(g.in) != nil {
			return true
		}
	}
	return false
}

func (g *Graph) isBody() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.part && g.outer.conds.of(g.in) != nil
}
