package modeltest_test

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// The reference model of the random test. Each buffer contains one number, each node performs one
// operation on it, and the nodes of a graph run in list order.

type modelBuffer struct {
	b     *driver.Buffer[uint32]
	value uint32
}

type modelCond struct {
	c     graph.Cond
	first uint32 // default value of the condition
	value uint32
}

type modelKind int

const (
	doPlus modelKind = iota
	doTimes
	doSum
	doFill
	doCopy
	doNothing
	doSetCond // sets a condition
	doControl // a kernel of a bounded loop, which never changes
	doChild
	doIf
	doWhile
)

type modelOp struct {
	kind    modelKind
	d, a, b *modelBuffer
	v       uint32 // operand, or the number of iterations of a loop
	cond    *modelCond
}

type modelNode struct {
	n   graph.Node
	id  int
	op  modelOp
	sub *modelGraph // the nested graph of a child graph or conditional node
	off bool        // disabled in an exec
}

type modelGraph struct {
	g     *graph.Graph
	nodes []*modelNode
	extra map[[2]int]bool // edges by node IDs, in addition to those between neighbours
	conds []*modelCond
}

type modelExec struct {
	x    *graph.Exec
	from *modelGraph
	copy *modelGraph // the graph that the exec runs
}

func (g *modelGraph) conditional() bool {
	if len(g.conds) > 0 {
		return true
	}
	for _, n := range g.nodes {
		if n.sub != nil && (n.op.kind != doChild || n.sub.conditional()) {
			return true
		}
	}
	return false
}

func (g *modelGraph) depth() int {
	deepest := 0
	for _, n := range g.nodes {
		if n.sub != nil {
			deepest = max(deepest, n.sub.depth())
		}
	}
	return deepest + 1
}

func (g *modelGraph) size() int {
	total := len(g.nodes)
	for _, n := range g.nodes {
		if n.sub != nil {
			total += n.sub.size()
		}
	}
	return total
}

// snapshot returns a copy of g. The nodes of the copy have the same IDs.
func (g *modelGraph) snapshot() *modelGraph {
	c := &modelGraph{g: g.g, extra: map[[2]int]bool{}, conds: g.conds}
	for e := range g.extra {
		c.extra[e] = true
	}
	for _, n := range g.nodes {
		m := *n
		if n.sub != nil {
			m.sub = n.sub.snapshot()
		}
		c.nodes = append(c.nodes, &m)
	}
	return c
}

func (g *modelGraph) find(id int) *modelNode {
	for _, n := range g.nodes {
		if n.id == id {
			return n
		}
		if n.sub != nil {
			if m := n.sub.find(id); m != nil {
				return m
			}
		}
	}
	return nil
}

// all returns all nodes, including those of nested graphs.
func (g *modelGraph) all() (nodes []*modelNode) {
	for _, n := range g.nodes {
		nodes = append(nodes, n)
		if n.sub != nil {
			nodes = append(nodes, n.sub.all()...)
		}
	}
	return nodes
}

// sameShape reports whether g and other have the same node types in the same order and the same
// edges, so that one can be updated from the other.
func (g *modelGraph) sameShape(other *modelGraph) bool {
	if len(g.nodes) != len(other.nodes) || len(g.extra) != len(other.extra) {
		return false
	}
	at, there := map[int]int{}, map[int]int{}
	for i, n := range g.nodes {
		m := other.nodes[i]
		at[n.id], there[m.id] = i, i
		if n.op.kind.node() != m.op.kind.node() || (n.sub != nil) && !n.sub.sameShape(m.sub) {
			return false
		}
	}
	edges := map[[2]int]bool{}
	for e := range g.extra {
		edges[[2]int{at[e[0]], at[e[1]]}] = true
	}
	for e := range other.extra {
		if !edges[[2]int{there[e[0]], there[e[1]]}] {
			return false
		}
	}
	return true
}

func (k modelKind) node() graph.Type {
	switch k {
	case doFill:
		return cu.CU_GRAPH_NODE_TYPE_MEMSET
	case doCopy:
		return cu.CU_GRAPH_NODE_TYPE_MEMCPY
	case doNothing:
		return cu.CU_GRAPH_NODE_TYPE_EMPTY
	case doChild:
		return cu.CU_GRAPH_NODE_TYPE_GRAPH
	case doIf, doWhile:
		return cu.CU_GRAPH_NODE_TYPE_CONDITIONAL
	}
	return cu.CU_GRAPH_NODE_TYPE_KERNEL
}

// adopt copies the parameters from a graph of the same shape.
func (g *modelGraph) adopt(other *modelGraph) {
	for i, n := range g.nodes {
		n.op = other.nodes[i].op
		if n.sub != nil {
			n.sub.adopt(other.nodes[i].sub)
		}
	}
}

func (x *modelExec) launch() {
	for _, c := range x.from.conds {
		c.value = c.first
	}
	x.copy.run()
}

func (g *modelGraph) run() {
	for _, n := range g.nodes {
		if !n.off {
			n.run()
		}
	}
}

func (n *modelNode) run() {
	switch o := n.op; o.kind {
	case doPlus:
		o.d.value += o.v
	case doTimes:
		o.d.value *= o.v
	case doSum:
		o.d.value = o.a.value + o.b.value
	case doFill:
		o.d.value = o.v
	case doCopy:
		o.d.value = o.a.value
	case doSetCond:
		o.cond.value = o.v
	case doChild:
		n.sub.run()
	case doIf:
		if o.cond.value != 0 {
			n.sub.run()
		}
	case doWhile:
		for range o.v {
			n.sub.run()
		}
	}
}
