package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
)

// childNode runs a nested graph.
type childNode struct{ graph *graph }

func (*childNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_GRAPH }

// run is never called: an executable graph has the child's steps instead.
func (*childNode) run(*execution) result { return errLaunchFailed }

func (n *childNode) graphs() []*graph { return []*graph{n.graph} }

// childFrom embeds a copy of a graph, or the graph itself if it is moved.
func childFrom(c call, parent *graph, h uintptr, move bool) (nodeParams, result) {
	g := find[graph](c.e, h)
	switch {
	case g == nil:
		return nil, errInvalidValue
	case g == parent.root() || g.parent != nil && move:
		return nil, errInvalidValue
	case g.hasConditional():
		return nil, errNotSupported
	case move:
		g.moved = true
		return &childNode{graph: g}, success
	case g.hasMemory(), g.parent != nil: // a graph in a node is not copied into another (driver 580)
		return nil, errNotSupported
	}
	return &childNode{graph: g.clone()}, success
}

func cuGraphAddChildGraphNode(c call) result {
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) { return childFrom(c, g, c.Word(4), false) })
}

func cuGraphChildGraphNodeGetGraph(c call) result {
	_, n, r := nodeOf[*childNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.graph.handle)
}
