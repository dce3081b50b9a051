package emulator

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// graph is a CUDA graph. The program created it, or it belongs to a child node or is a body of a
// conditional node.
type graph struct {
	e         *Emulator
	handle    uintptr
	nodes     []*node // in the order of creation
	parent    *node   // the child or conditional node that contains the graph, or nil
	moved     bool    // set if the graph was moved into parent rather than copied
	capturing bool
	origin    *graph // the graph that this one is a clone of, or nil
	users     map[*userObject]int
	execs     int // number of executable graphs; counted only if there may be at most one
	destroyed bool
	handles   []*condition // conditional handles that were created for the graph
}

// node is a node in a graph. The value of params is immutable, so a change replaces it.
type node struct {
	handle     uintptr
	id         uint64
	graph      *graph
	params     nodeParams
	deps       []edge // dependencies
	dependents []edge // nodes that depend on this one
	origin     *node  // the node that this one is a clone of, or nil
}

// edge is a dependency as seen from one of its two nodes. It holds the other node and the edge
// data.
type edge struct {
	node *node
	data cu.CUgraphEdgeData
}

func (d edge) special() bool { return d.data != cu.CUgraphEdgeData{} }

// nodeParams describes the work of a node. Values in a node are immutable, because executable
// graphs share them.
type nodeParams interface {
	operation
	kind() cu.CUgraphNodeType
}

func (e *Emulator) newGraph() *graph {
	g := &graph{e: e, users: make(map[*userObject]int)}
	g.handle = e.register(g)
	return g
}

// add creates a node. Its dependencies must belong to this graph.
func (g *graph) add(p nodeParams, deps []edge) *node {
	n := &node{id: g.e.id(), graph: g, params: p, deps: slices.Clone(deps)}
	n.handle = g.e.register(n)
	for _, d := range deps {
		d.node.dependents = append(d.node.dependents, edge{n, d.data})
	}
	g.nodes = append(g.nodes, n)
	if o, ok := p.(nested); ok {
		for _, inner := range o.graphs() {
			inner.parent = n
		}
	}
	return n
}

// nested is implemented by nodes that contain graphs: child and conditional nodes.
type nested interface{ graphs() []*graph }

// destroy destroys the graph with its nodes and nested graphs, and releases its user objects. Its
// executable graphs remain valid.
func (g *graph) destroy() {
	if g.destroyed {
		return
	}
	g.destroyed = true
	for _, n := range g.nodes {
		n.drop()
	}
	for _, h := range g.handles {
		g.e.forget(h.handle)
	}
	for u, n := range g.users {
		u.release(n)
	}
	g.users = nil
	g.e.forget(g.handle)
}

// drop invalidates a node's handle and destroys the node's graphs.
func (n *node) drop() {
	n.graph.e.forget(n.handle)
	if o, ok := n.params.(nested); ok {
		for _, inner := range o.graphs() {
			inner.destroy()
		}
	}
	if a, ok := n.params.(*allocNode); ok {
		a.dropped(n.graph.e)
	}
	if c, ok := n.params.(*conditionalNode); ok {
		c.cond.node = nil
	}
}

func (n *node) remove() {
	for _, d := range n.deps {
		d.node.dependents = without(d.node.dependents, n)
	}
	for _, d := range n.dependents {
		d.node.deps = without(d.node.deps, n)
	}
	n.graph.nodes = slices.DeleteFunc(n.graph.nodes, func(m *node) bool { return m == n })
	n.drop()
}

func without(edges []edge, n *node) []edge {
	return slices.DeleteFunc(edges, func(d edge) bool { return d.node == n })
}

// any reports whether the graph or a nested graph has a node of one of the given kinds.
func (g *graph) any(kinds ...cu.CUgraphNodeType) bool {
	return slices.ContainsFunc(g.nodes, func(n *node) bool {
		if slices.Contains(kinds, n.params.kind()) {
			return true
		}
		o, ok := n.params.(nested)
		return ok && slices.ContainsFunc(o.graphs(), func(inner *graph) bool { return inner.any(kinds...) })
	})
}

func (g *graph) hasMemory() bool {
	return g.any(cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC, cu.CU_GRAPH_NODE_TYPE_MEM_FREE)
}

// root returns the outermost graph, which is the one that the program created.
func (g *graph) root() *graph {
	for g.parent != nil {
		g = g.parent.graph
	}
	return g
}

func graphAt(c call, i int) (*graph, result) {
	if c.Word(i) == 0 {
		return nil, errInvalidValue
	}
	g := handleAt[graph](c, i)
	if g == nil { // driver 580 returns the same code for a destroyed graph
		return nil, errInvalidValue
	}
	return g, success
}

func nodeAt(c call, i int) (*node, result) {
	if c.Word(i) == 0 {
		return nil, errInvalidValue
	}
	n := handleAt[node](c, i)
	if n == nil {
		return nil, errInvalidHandle
	}
	return n, success
}

var graphFunctions = functions{
	"cuGraphCreate":          {cuGraphCreate, afterInit},
	"cuGraphDestroy":         {cuGraphDestroy, afterInit},
	"cuGraphDestroyNode":     {cuGraphDestroyNode, afterInit},
	"cuGraphClone":           {cuGraphClone, afterInit},
	"cuGraphNodeFindInClone": {cuGraphNodeFindInClone, afterInit},
	"cuGraphNodeGetType":     {query(nodeAt, 0, 1, func(n *node) cu.CUgraphNodeType { return n.params.kind() }), afterInit},
	"cuGraphGetNodes":        {cuGraphGetNodes, afterInit},
	"cuGraphGetRootNodes":    {cuGraphGetRootNodes, afterInit},
	"cuGraphDebugDotPrint":   {cuGraphDebugDotPrint, afterInit},
}

func cuGraphCreate(c call) result {
	if c.Ptr(0) == nil || c.Uint32(1) != 0 {
		return errInvalidValue
	}
	return put(c, 0, c.e.newGraph().handle)
}

// cuGraphDestroy rejects a graph that belongs to a node, because destroying the node destroys the
// graph. It also rejects a graph if a capture is adding nodes to it.
func cuGraphDestroy(c call) result {
	g := handleAt[graph](c, 0)
	switch {
	case g == nil:
		return errInvalidValue
	case g.parent != nil:
		return errInvalidValue
	case g.capturing:
		return errIllegalState
	}
	g.destroy()
	return success
}

func cuGraphDestroyNode(c call) result {
	n, r := nodeAt(c, 0)
	switch {
	case r != success:
		return r
	case n.graph.capturing:
		return errIllegalState
	case n.graph.hasMemory():
		return errNotSupported
	}
	n.remove()
	return success
}

func cuGraphGetNodes(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	return putNodes(c, 1, 2, g.nodes)
}

func cuGraphGetRootNodes(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	var roots []*node
	for _, n := range g.nodes {
		if len(n.deps) == 0 {
			roots = append(roots, n)
		}
	}
	return putNodes(c, 1, 2, roots)
}

// putNodes stores nodes as driver functions do. If the array is NULL, it stores only the number of
// nodes. Otherwise, it fills the array, with zeros after the last node, and stores how many nodes
// the array received.
func putNodes(c call, array, count int, nodes []*node) result {
	num := at[uintptr](c, count)
	if num == nil {
		return errInvalidValue
	}
	if c.Ptr(array) == nil {
		*num = uintptr(len(nodes))
		return success
	}
	out := list[uintptr](c, array, int(*num))
	clear(out)
	for i := range min(len(out), len(nodes)) {
		out[i] = nodes[i].handle
	}
	*num = uintptr(min(len(out), len(nodes)))
	return success
}

func cuGraphClone(c call) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	case g.hasMemory() || g.hasConditional():
		return errNotSupported
	}
	return put(c, 0, g.clone().handle)
}

func (g *graph) clone() *graph {
	clone := g.e.newGraph()
	clone.origin = g
	clones := make(map[*node]*node, len(g.nodes))
	for _, n := range g.topological() {
		deps := slices.Clone(n.deps)
		for i := range deps {
			deps[i].node = clones[deps[i].node]
		}
		p := n.params
		if child, ok := p.(*childNode); ok {
			p = &childNode{graph: child.graph.clone()}
		}
		clones[n] = clone.add(p, deps)
		clones[n].origin = n
	}
	// Keep the original order of edges and nodes.
	clone.nodes = clone.nodes[:0]
	for _, n := range g.nodes {
		t := clones[n]
		t.dependents = t.dependents[:0]
		for _, d := range n.dependents {
			t.dependents = append(t.dependents, edge{clones[d.node], d.data})
		}
		clone.nodes = append(clone.nodes, t)
	}
	for u, n := range g.users {
		u.retain(n)
		clone.users[u] = n
	}
	return clone
}

// topological returns the nodes in an order in which each node follows its dependencies.
// Independent nodes are in the order of creation. Nodes in a cycle are missing from the result.
func (g *graph) topological() []*node {
	waiting := make(map[*node]int, len(g.nodes))
	var ready, order []*node
	for _, n := range g.nodes {
		if waiting[n] = len(n.deps); waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		order = append(order, n)
		for _, d := range n.dependents {
			if waiting[d.node]--; waiting[d.node] == 0 {
				ready = append(ready, d.node)
			}
		}
	}
	return order
}

func cuGraphNodeFindInClone(c call) result {
	n, r := nodeAt(c, 1)
	if r != success {
		return r
	}
	g, r := graphAt(c, 2)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || g.origin == nil:
		return errInvalidValue
	}
	for _, t := range g.nodes {
		if t.origin == n {
			return put(c, 0, t.handle)
		}
	}
	return errInvalidValue
}

// cuGraphDebugDotPrint writes the graph in Graphviz format. If any flag is set, it adds parameters
// to the nodes.
func cuGraphDebugDotPrint(c call) result {
	g, r := graphAt(c, 0)
	if r != success {
		return r
	}
	path, ok := c.text(1)
	if !ok {
		return errInvalidValue
	}
	var b strings.Builder
	b.WriteString("digraph dot {\n")
	g.dot(&b, "graph_1", c.Uint32(2) != 0)
	b.WriteString("}\n")
	if os.WriteFile(path, []byte(b.String()), 0o666) != nil {
		return cu.CUDA_ERROR_OPERATING_SYSTEM
	}
	return success
}

// dot writes one cluster for the graph and one for each nested graph.
func (g *graph) dot(b *strings.Builder, name string, details bool) {
	fmt.Fprintf(b, "subgraph cluster_%s {\nlabel=%q\n", name, name)
	for i, n := range g.nodes {
		id := fmt.Sprintf("%s_node_%d", name, i)
		label := fmt.Sprintf("%d\n%s", i, nodeName(n.params))
		if details {
			label += "\n" + nodeDetail(n.params)
		}
		fmt.Fprintf(b, "%q [shape=\"box\", label=%q]\n", id, label)
		for _, d := range n.deps {
			fmt.Fprintf(b, "\"%s_node_%d\" -> %q\n", name, d.node.position(), id)
		}
		if o, ok := n.params.(nested); ok {
			for j, inner := range o.graphs() {
				inner.dot(b, fmt.Sprintf("%s_%d_%d", name, i, j), details)
			}
		}
	}
	b.WriteString("}\n")
}

func (n *node) position() int {
	for i, m := range n.graph.nodes {
		if m == n {
			return i
		}
	}
	return -1
}

func nodeName(p nodeParams) string {
	if k, ok := p.(*kernelNode); ok {
		return k.fn.code.Name()
	}
	return strings.TrimPrefix(p.kind().String(), "CU_GRAPH_NODE_TYPE_")
}

func nodeDetail(p nodeParams) string {
	switch n := p.(type) {
	case *kernelNode:
		return fmt.Sprintf("<<<%v,%v,%d>>>", n.Grid, n.Block, n.Shared)
	case *copyNode:
		return fmt.Sprintf("%d bytes", n.extent.Bytes())
	case *fillNode:
		return fmt.Sprintf("%#x = %#x, %d x %d of %d bytes", n.addr, n.value, n.width, n.height, n.element)
	case *allocNode:
		return fmt.Sprintf("%d bytes at %#x", n.size, n.addr)
	case *freeNode:
		return fmt.Sprintf("%#x", n.alloc.addr)
	}
	return ""
}
