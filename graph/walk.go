package graph

import (
	"iter"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Nodes yields the graph's nodes, in the driver's order, as they are when the iteration begins. An
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

// lister is a driver function that lists nodes of a graph, or says how many.
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

// collect lists before anything is yielded: the loop's body may change the
// graph.
func (g *Graph) collect(list lister) ([]Node, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	raws, err := g.handlesBy(list)
	return g.nodes(raws), err
}

// listed is Nodes for a graph that is locked.
func (g *Graph) listed() ([]Node, error) {
	raws, err := g.handles()
	return g.nodes(raws), err
}

// handles lists the graph's nodes as the driver does.
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
	// Data is nonzero for edges that are not plain, such as those of programmatic dependent
	// launches.
	Data cu.CUgraphEdgeData
}

// Edges yields the graph's dependencies, as they are when the iteration begins.
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

// listedEdges is collectEdges for a graph that is locked.
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

// rawEdgeLists lists the graph's edges as the driver does.
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

// getEdges picks the ABI: edges have data since CUDA 12.3.
func (g *Graph) getEdges(from, to *cu.CUgraphNode, data *cu.CUgraphEdgeData, n *uintptr) error {
	if g.d.Has(cu.FnCuGraphGetEdges) {
		return g.d.CuGraphGetEdges(g.raw, from, to, data, n)
	}
	return g.d.CuGraphGetEdges_v10000(g.raw, from, to, n)
}
