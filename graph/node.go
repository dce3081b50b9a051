package graph

import (
	"fmt"
	"iter"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Node is one node of a graph. It is a small comparable value: two Nodes are equal if they denote
// the same node. The zero Node denotes no node.
type Node struct {
	g *Graph
	i uint32 // index in the graph's tables, which contain the driver's handle
}

// Type is the type of a node.
type Type = cu.CUgraphNodeType

// Graph returns the graph that contains the node.
func (n Node) Graph() *Graph { return n.g }

// Raw returns the driver's handle. It is 0 for the zero Node, for a destroyed node, and once the
// graph is closed. The handle of a node recorded in the body of a conditional node changes when the
// conditional node is complete.
func (n Node) Raw() cu.CUgraphNode {
	if n.g == nil {
		return 0
	}
	n.g.lockLatch()
	defer n.g.mu.Unlock()
	if n.g.shut || !n.g.has(n.i) {
		return 0
	}
	return n.handle()
}

// handle returns the driver's handle of an existing node. The caller must hold the graph's lock.
func (n Node) handle() cu.CUgraphNode { return n.g.raws[n.i] }

func (g *Graph) has(i uint32) bool { return uint64(i) < uint64(len(g.raws)) && g.raws[i] != 0 }

// IsZero reports whether n is the zero Node.
func (n Node) IsZero() bool { return n.g == nil }

// String returns "node" with the node's number and, if it has a name, the name in parentheses.
func (n Node) String() string {
	if n.g == nil {
		return "no node"
	}
	if name := n.Name(); name != "" {
		return fmt.Sprintf("node %d (%s)", n.i, name)
	}
	return fmt.Sprintf("node %d", n.i)
}

// Name returns the name set by SetName, or "".
func (n Node) Name() string {
	if n.g == nil {
		return ""
	}
	return n.g.names.get(n.i)
}

// SetName sets the node's name for errors and drawings.
func (n Node) SetName(name string) error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	n.g.names.set(n.i, name)
	return nil
}

// Type returns the node's type.
func (n Node) Type() (Type, error) {
	if err := n.lock(); err != nil {
		return 0, err
	}
	defer n.g.mu.Unlock()
	var t Type
	err := n.g.d.CuGraphNodeGetType(n.handle(), &t)
	n.g.alive()
	return t, err
}

// Destroy removes the node and its edges. Existing Execs keep the node.
func (n Node) Destroy() error {
	if err := n.lock(); err != nil {
		return err
	}
	defer n.g.mu.Unlock()
	if err := n.captured(); err != nil {
		return err
	}
	if err := n.g.d.CuGraphDestroyNode(n.handle()); err != nil {
		return n.g.memoryLimit(err, noRemoval)
	}
	n.g.removed(n)
	return nil
}

// lock locks the node's graph for a call. It returns an error if the node no longer exists.
func (n Node) lock() error {
	if n.g == nil {
		return errNoNode
	}
	if err := n.g.lock(); err != nil {
		return fmt.Errorf("its %w", err)
	}
	if !n.g.has(n.i) {
		n.g.mu.Unlock()
		return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, n.g)
	}
	return nil
}

var errNoNode = aNode.Error(false)

// added adds a new node to the tables. The caller must commit the node's references first.
func (g *Graph) added(raw cu.CUgraphNode) Node {
	i := uint32(len(g.raws))
	g.raws = append(g.raws, raw)
	if g.index != nil {
		g.index[raw] = i
	}
	return Node{g, i}
}

// removed removes a destroyed node from the tables. Node numbers are never reused, but the driver
// may reuse handles.
func (g *Graph) removed(n Node) {
	n.forgetParts()
	raw := n.handle()
	g.raws[n.i] = 0
	delete(g.index, raw)
	delete(g.attributes, raw)
	g.names.set(n.i, "")
	g.accesses.Forget(n.i)
	if g.part {
		return // the outermost graph retains the node's references
	}
	o := g.changeRefs()
	o.Forget(n.i)
	o.Flush()
}

// node returns the Node for a driver's node in this graph. It first adds the node to the tables if
// captured work or a clone created it only in the driver.
func (g *Graph) node(raw cu.CUgraphNode) Node {
	if raw == 0 {
		return Node{}
	}
	if g.index == nil {
		g.index = make(map[cu.CUgraphNode]uint32, len(g.raws))
		for i, r := range g.raws {
			if r != 0 {
				g.index[r] = uint32(i)
			}
		}
	}
	if i, known := g.index[raw]; known {
		return Node{g, i}
	}
	return g.found(raw)
}

// found adds a node to the tables without any retained references.
func (g *Graph) found(raw cu.CUgraphNode) Node {
	n := g.added(raw)
	if !g.part {
		g.changeRefs().Grow(n.i)
	}
	return n
}

func (g *Graph) check(n Node) error {
	switch {
	case n.g == g && g.has(n.i):
		return nil
	case n.g == nil:
		return errNoNode
	case n.g != g:
		return invalid("node %d belongs to %v, not to %v", n.i, n.g, g)
	}
	return refuse(driver.CUDA_ERROR_INVALID_HANDLE, "node %d of %v was destroyed", n.i, g)
}

// Incoming returns the edges that end at n, with their data.
func (n Node) Incoming() ([]Edge, error) {
	return n.edges(n.dependencyList, func(other Node, data cu.CUgraphEdgeData) Edge { return Edge{other, n, data} })
}

// Outgoing returns the edges that begin at n, with their data.
func (n Node) Outgoing() ([]Edge, error) {
	return n.edges(n.dependentList, func(other Node, data cu.CUgraphEdgeData) Edge { return Edge{n, other, data} })
}

// neighbourList lists the nodes at the other ends of a node's edges, or only counts them.
type neighbourList func(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error

func (n Node) edges(list neighbourList, edge func(other Node, data cu.CUgraphEdgeData) Edge) ([]Edge, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	return n.edgesLocked(list, edge)
}

func (n Node) edgesLocked(list neighbourList, edge func(other Node, data cu.CUgraphEdgeData) Edge) ([]Edge, error) {
	raws, data, err := n.ends(list)
	if len(raws) == 0 {
		return nil, err
	}
	edges := make([]Edge, len(raws))
	for i := range edges {
		edges[i] = edge(n.g.node(raws[i]), data[i])
	}
	return edges, err
}

// dependencyList and dependentList call the driver's ABI with edge data, if it has one (CUDA 12.3).
func (n Node) dependencyList(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error {
	if d.Has(cu.FnCuGraphNodeGetDependencies) {
		return d.CuGraphNodeGetDependencies(n.handle(), nodes, data, count)
	}
	return d.CuGraphNodeGetDependencies_v10000(n.handle(), nodes, count)
}

func (n Node) dependentList(d *driver.Driver, nodes *cu.CUgraphNode, data *cu.CUgraphEdgeData, count *uintptr) error {
	if d.Has(cu.FnCuGraphNodeGetDependentNodes) {
		return d.CuGraphNodeGetDependentNodes(n.handle(), nodes, data, count)
	}
	return d.CuGraphNodeGetDependentNodes_v10000(n.handle(), nodes, count)
}

// Dependencies returns the nodes that n runs after.
func (n Node) Dependencies() ([]Node, error) {
	return n.neighbours(n.dependencyList)
}

// Dependents returns the nodes that run after n.
func (n Node) Dependents() ([]Node, error) {
	return n.neighbours(n.dependentList)
}

func (n Node) neighbours(list neighbourList) ([]Node, error) {
	if err := n.lock(); err != nil {
		return nil, err
	}
	defer n.g.mu.Unlock()
	raws, _, err := n.ends(list)
	return n.g.nodes(raws), err
}

// ends lists the nodes at the other ends of a node's edges. It always queries the edge data,
// because the driver fails if the caller omits nonzero data.
func (n Node) ends(list neighbourList) ([]cu.CUgraphNode, []cu.CUgraphEdgeData, error) {
	var count uintptr
	if err := list(n.g.d, nil, nil, &count); err != nil || count == 0 {
		return nil, nil, err
	}
	raws, data := make([]cu.CUgraphNode, count), make([]cu.CUgraphEdgeData, count)
	if err := list(n.g.d, &raws[0], &data[0], &count); err != nil {
		return nil, nil, err
	}
	return raws[:count], data[:count], nil
}

// Nodes yields the nodes that the graph has when the iteration begins, in the driver's order. An
// error ends the iteration.
func (g *Graph) Nodes() iter.Seq2[Node, error] {
	return g.each((*driver.Driver).CuGraphGetNodes)
}

// Roots yields the nodes without dependencies.
func (g *Graph) Roots() iter.Seq2[Node, error] {
	return g.each((*driver.Driver).CuGraphGetRootNodes)
}

// Len returns the number of nodes.
func (g *Graph) Len() (int, error) {
	if err := g.lock(); err != nil {
		return 0, err
	}
	defer g.mu.Unlock()
	n, err := g.count((*driver.Driver).CuGraphGetNodes)
	return int(n), err
}

// lister is a driver function that lists nodes of a graph or only counts them.
type lister func(d *driver.Driver, graph driver.CUgraph, nodes *cu.CUgraphNode, n *uintptr) error

func (g *Graph) each(list lister) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		nodes, err := g.collect(list)
		if err != nil {
			yield(Node{}, err)
			return
		}
		for _, n := range nodes {
			if !yield(n, nil) {
				return
			}
		}
	}
}

// collect lists all nodes before the iteration yields the first one, because the caller may change
// the graph in between.
func (g *Graph) collect(list lister) ([]Node, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	raws, err := g.handlesBy(list)
	return g.nodes(raws), err
}

// listed returns all nodes. The caller must hold the graph's lock.
func (g *Graph) listed() ([]Node, error) {
	raws, err := g.handles()
	return g.nodes(raws), err
}

// handles lists the graph's nodes in the driver's order.
func (g *Graph) handles() ([]cu.CUgraphNode, error) {
	return g.handlesBy((*driver.Driver).CuGraphGetNodes)
}

func (g *Graph) handlesBy(list lister) ([]cu.CUgraphNode, error) {
	n, err := g.count(list)
	if err != nil || n == 0 {
		return nil, err
	}
	raws := make([]cu.CUgraphNode, n)
	if err := list(g.d, g.raw, &raws[0], &n); err != nil {
		return nil, err
	}
	return raws[:n], nil
}

func (g *Graph) count(list lister) (n uintptr, err error) {
	err = list(g.d, g.raw, nil, &n)
	return n, err
}

func (g *Graph) nodes(raws []cu.CUgraphNode) []Node {
	if len(raws) == 0 {
		return nil
	}
	nodes := make([]Node, len(raws))
	for i, r := range raws {
		nodes[i] = g.node(r)
	}
	return nodes
}

// Edge is a dependency: To runs after From.
type Edge struct {
	From, To Node
	// Data is nonzero only for special edges, such as programmatic dependencies.
	Data cu.CUgraphEdgeData
}

// Edges yields the dependencies that the graph has when the iteration begins.
func (g *Graph) Edges() iter.Seq2[Edge, error] {
	return func(yield func(Edge, error) bool) {
		edges, err := g.collectEdges()
		if err != nil {
			yield(Edge{}, err)
			return
		}
		for _, e := range edges {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (g *Graph) collectEdges() ([]Edge, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	return g.listedEdges()
}

// listedEdges returns all edges. The caller must hold the graph's lock.
func (g *Graph) listedEdges() ([]Edge, error) {
	from, to, data, err := g.rawEdgeLists()
	if len(from) == 0 {
		return nil, err
	}
	edges := make([]Edge, len(from))
	for i := range edges {
		edges[i] = Edge{g.node(from[i]), g.node(to[i]), data[i]}
	}
	return edges, err
}

// rawEdgeLists lists the graph's edges in the driver's order.
func (g *Graph) rawEdgeLists() (from, to []cu.CUgraphNode, data []cu.CUgraphEdgeData, err error) {
	var n uintptr
	if err := g.getEdges(nil, nil, nil, &n); err != nil || n == 0 {
		return nil, nil, nil, err
	}
	from, to = make([]cu.CUgraphNode, n), make([]cu.CUgraphNode, n)
	data = make([]cu.CUgraphEdgeData, n)
	if err := g.getEdges(&from[0], &to[0], &data[0], &n); err != nil {
		return nil, nil, nil, err
	}
	return from[:n], to[:n], data[:n], nil
}

// getEdges calls the driver's ABI with edge data, if it has one (CUDA 12.3).
func (g *Graph) getEdges(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n *uintptr) error {
	if g.d.Has(cu.FnCuGraphGetEdges) {
		return g.d.CuGraphGetEdges(g.raw, from, to, data, n)
	}
	return g.d.CuGraphGetEdges_v10000(g.raw, from, to, n)
}
