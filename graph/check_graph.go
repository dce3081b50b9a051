package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
)

// checker is a graph with all that lies in its nodes, flat: a vertex for each
// node that does something, and two for each that has graphs inside, between
// which those lie.
type checker struct {
	nodes  []Node  // by vertex
	after  [][]int // by vertex: those that it runs after
	graphs []*Graph
	uses   []access.StepAccess
	unsure []Unknown
	allocs map[uint64]uint64 // what the graph allocates: address and size
	d      *driver.Driver
}

func (c *checker) vertex(n Node) int {
	c.nodes, c.after = append(c.nodes, n), append(c.after, nil)
	return len(c.nodes) - 1
}

func (c *checker) order(from, to int) { c.after[to] = append(c.after[to], from) }

func (c *checker) unknown(n Node, reason string) {
	c.unsure = append(c.unsure, Unknown{n, reason})
}

// ends are the first and the last vertex of something.
type ends struct{ first, last int }

// graph enters a graph, which is locked, and returns the vertices of its nodes.
func (c *checker) graph(g *Graph) ([]ends, error) {
	c.d, c.graphs = g.d, append(c.graphs, g)
	nodes, err := g.listed()
	if err != nil {
		return nil, err
	}
	place := make(map[cu.CUgraphNode]int, len(nodes))
	all := make([]ends, len(nodes))
	kernels, err := g.kernelSets(nodes)
	if err != nil {
		return nil, err
	}
	for i, n := range nodes {
		place[n.handle()] = i
		if all[i], err = c.node(n, kernels); err != nil {
			return nil, err
		}
	}
	from, to, _, err := g.rawEdgeLists()
	if err != nil {
		return nil, err
	}
	for i := range from {
		c.order(all[place[from[i]]].last, all[place[to[i]]].first)
	}
	return all, nil
}

// node enters a node.
func (c *checker) node(n Node, k *kernelNodes) (ends, error) {
	var t Type
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &t); err != nil {
		return ends{}, err
	}
	v := c.vertex(n)
	inside, err := n.graphsInside(t)
	switch {
	case err != nil:
		return ends{}, err
	case len(inside) > 0:
		return c.bodies(n, v, inside)
	case t == cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		c.unknown(n, "its bodies were not made by this package")
	}
	return ends{v, v}, c.leaf(n, t, v, k)
}

// bodies enters graphs that lie in a node, one behind the other: those of a
// conditional node never run at the same time.
func (c *checker) bodies(n Node, first int, bodies []*Graph) (ends, error) {
	at := first
	for _, b := range bodies {
		inner, err := c.graph(b)
		if err != nil {
			return ends{}, err
		}
		next := c.vertex(n)
		c.order(at, next)
		for _, e := range inner {
			c.order(at, e.first)
			c.order(e.last, next)
		}
		at = next
	}
	return ends{first, at}, nil
}
