package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// picture is what drawings and summaries show: a graph as it was at one moment,
// with the graphs in its nodes. Nodes are in the order of their numbers, which
// are those in errors; handles are nowhere in it, so that a program draws the
// same each time.
type picture struct {
	g     *Graph
	label string // of a graph in a node: which of the node's it is
	nodes []pictured
	edges []line
	after [][]int // for each node, the nodes it runs after
}

// pictured is a node in a picture.
type pictured struct {
	Node
	path   []uint32 // number, and in a node: that node's path and which of its graphs
	typ    Type
	does   string // its type in words
	name   string // "" for none
	detail string
	inside []*picture
}

// line is an edge in a picture, between places in its list of nodes.
type line struct {
	from, to int
	data     cu.CUgraphEdgeData
}

// picture takes one of the graph as it is now.
func (g *Graph) picture() (*picture, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	p, err := g.pictured(nil)
	g.alive()
	return p, err
}

// pictured is picture for a graph that is locked.
func (g *Graph) pictured(path []uint32) (*picture, error) {
	nodes, err := g.listed()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.i, b.i) })
	p := &picture{g: g, nodes: make([]pictured, len(nodes))}
	for i, n := range nodes {
		if err := n.pictureInto(&p.nodes[i], path); err != nil {
			return nil, fmt.Errorf("node %d of %v: %w", n.i, g, err)
		}
	}
	return p, p.takeEdges()
}

func (n Node) pictureInto(p *pictured, path []uint32) (err error) {
	p.Node = n
	p.path = append(slices.Clip(path), n.i)
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &p.typ); err != nil {
		return err
	}
	p.does = n.does(p.typ)
	if p.name, err = n.shownName(p.typ); err != nil {
		return err
	}
	if p.detail, err = n.detail(p.typ); err != nil {
		return err
	}
	graphs, err := n.graphsInside(p.typ)
	for i, g := range graphs {
		in, err := g.pictured(append(slices.Clip(p.path), uint32(i)))
		if err != nil {
			return err
		}
		in.label = insideLabel(p.typ, p.does, i, len(graphs))
		p.inside = append(p.inside, in)
	}
	return err
}

// graphsInside returns the graphs in a node. The bodies of a conditional node
// are told to whom added the node and to nobody later, so there are none of nodes
// that this package did not add.
func (n Node) graphsInside(t Type) ([]*Graph, error) {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_GRAPH:
		var raw driver.CUgraph
		if err := n.g.d.CuGraphChildGraphNodeGetGraph(n.handle(), &raw); err != nil {
			return nil, err
		}
		return []*Graph{n.inside(raw)}, nil
	case cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if k := n.g.outermost().conds.of(n); k != nil {
			return k.bodies, nil
		}
	}
	return nil, nil
}

func insideLabel(t Type, does string, i, n int) string {
	switch {
	case t != cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return ""
	case n == 1:
		return "body"
	case does == formIfElse.String():
		return []string{"then", "else"}[i]
	}
	return fmt.Sprintf("body %d", i)
}

// takeEdges fills in the edges, in the order of the nodes' numbers.
func (p *picture) takeEdges() error {
	edges, err := p.g.listedEdges()
	if err != nil {
		return err
	}
	place := make(map[uint32]int, len(p.nodes))
	for i := range p.nodes {
		place[p.nodes[i].i] = i
	}
	p.edges = make([]line, len(edges))
	for i, e := range edges {
		p.edges[i] = line{place[e.From.i], place[e.To.i], e.Data}
	}
	slices.SortFunc(p.edges, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.data.From_port, b.data.From_port))
	})
	p.after = make([][]int, len(p.nodes))
	for _, e := range p.edges {
		p.after[e.to] = append(p.after[e.to], e.from)
	}
	return nil
}

// id joins a node's path to an identifier: n3, and n3_0_1 for node 1 of the
// first graph in node 3.
func (n *pictured) id() string { return "n" + joinPath(n.path, "_") }

// number is the path for people: 3, and 3.0.1.
func (n *pictured) number() string { return joinPath(n.path, ".") }

func joinPath(path []uint32, sep string) string {
	s := ""
	for i, p := range path {
		if i > 0 {
			s += sep
		}
		s += fmt.Sprint(p)
	}
	return s
}

// programmatic reports whether an edge lets its second kernel begin before the
// first has ended.
func (e line) programmatic() bool {
	return cu.CUgraphDependencyType(e.data.Type) == cu.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
}

// each calls f with the place of every node, and after a node with those inside.
func (p *picture) each(f func(p *picture, i int)) {
	for i := range p.nodes {
		f(p, i)
		for _, in := range p.nodes[i].inside {
			in.each(f)
		}
	}
}
