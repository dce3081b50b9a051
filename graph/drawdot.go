package graph

import (
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// WriteDOT draws the graph, with the graphs in its nodes, in the DOT language of
// Graphviz. A node is called by the name it was given, else by that of its
// kernel (CUDA 12.3), and has the number that it has in errors. The same graph
// built in the same way is drawn the same each time. Bodies of conditional nodes
// are drawn if this Graph has been asked for them or made them. For the driver's
// own drawing, with addresses and handles, see [Graph.DriverDOT].
func (g *Graph) WriteDOT(w io.Writer, opts ...DrawOption) error {
	d, err := g.drawing(opts)
	if err != nil {
		return fmt.Errorf("drawing of %v: %w", g, err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "digraph %s {\n", quoted(d.title))
	fmt.Fprintf(b, "\tlabel=%s;\n\tlabelloc=t;\n\tcompound=true;\n", quoted(d.title))
	b.WriteString("\tnode [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n")
	d.dot(b, d.picture, "\t")
	b.WriteString("}\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func (d *drawing) dot(b *strings.Builder, p *picture, indent string) {
	for i := range p.nodes {
		d.dotNode(b, &p.nodes[i], indent)
	}
	for _, e := range p.edges {
		from, to := &p.nodes[e.from], &p.nodes[e.to]
		fmt.Fprintf(b, "%s%s -> %s%s;\n", indent, from.id(), to.id(), attributes(d.dotEdge(p, e)))
		for _, in := range from.inside {
			in.keepAbove(b, to, indent)
		}
	}
}

// keepAbove has a graph in a node laid out above what runs after the node, by an
// edge that is not seen.
func (p *picture) keepAbove(b *strings.Builder, to *pictured, indent string) {
	leaves := p.leaves()
	if len(leaves) == 0 {
		return
	}
	last := &p.nodes[leaves[len(leaves)-1]]
	fmt.Fprintf(b, "%s%s -> %s [style=invis];\n", indent, last.id(), to.id())
	for _, in := range last.inside {
		in.keepAbove(b, to, indent)
	}
}

func (d *drawing) dotNode(b *strings.Builder, n *pictured, indent string) {
	if len(n.inside) == 0 {
		d.dotBox(b, n, indent)
		return
	}
	fmt.Fprintf(b, "%ssubgraph cluster_%s {\n%s\tlabel=\"\";\n", indent, n.id(), indent)
	d.dotBox(b, n, indent+"\t")
	for i, in := range n.inside {
		d.dotInside(b, n, i, in, indent+"\t")
	}
	fmt.Fprintf(b, "%s}\n", indent)
}

// dotInside draws a graph in a node as a cluster of its own, below the node.
func (d *drawing) dotInside(b *strings.Builder, n *pictured, i int, in *picture, indent string) {
	fmt.Fprintf(b, "%ssubgraph cluster_%s_%d {\n%s\tlabel=%s;\n", indent, n.id(), i, indent, quoted(in.label))
	d.dot(b, in, indent+"\t")
	fmt.Fprintf(b, "%s}\n", indent)
	for _, r := range in.roots() {
		fmt.Fprintf(b, "%s%s -> %s [style=dotted, arrowhead=none];\n", indent, n.id(), in.nodes[r].id())
	}
}

func (d *drawing) dotBox(b *strings.Builder, n *pictured, indent string) {
	attrs := []string{"label=" + quoted(strings.Join(d.lines(n), "\n")), "fillcolor=" + quoted(fillColor(n.typ))}
	if d.onPath[n.Node] {
		attrs = append(attrs, "color="+quoted(criticalColor), "penwidth=3")
	}
	if d.off[n.Node] {
		attrs = append(attrs, `style="rounded,dashed"`)
	}
	fmt.Fprintf(b, "%s%s%s;\n", indent, n.id(), attributes(attrs))
}

func (d *drawing) dotEdge(p *picture, e line) (attrs []string) {
	from, to := &p.nodes[e.from], &p.nodes[e.to]
	if len(from.inside) > 0 {
		attrs = append(attrs, "ltail=cluster_"+from.id())
	}
	if len(to.inside) > 0 {
		attrs = append(attrs, "lhead=cluster_"+to.id())
	}
	if e.programmatic() {
		attrs = append(attrs, "style=dashed", `label="programmatic"`)
	}
	if d.isCritical(p, e) {
		attrs = append(attrs, "color="+quoted(criticalColor), "penwidth=3")
	}
	return attrs
}

func attributes(attrs []string) string {
	if len(attrs) == 0 {
		return ""
	}
	return " [" + strings.Join(attrs, ", ") + "]"
}

// quoted writes a string as DOT wants it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// roots returns the places of the nodes that depend on none.
func (p *picture) roots() []int { return p.ends(func(e line) int { return e.to }) }

// leaves returns the places of the nodes on which none depends.
func (p *picture) leaves() []int { return p.ends(func(e line) int { return e.from }) }

// ends returns the places of the nodes that are at the given end of no edge.
func (p *picture) ends(end func(line) int) (places []int) {
	has := make([]bool, len(p.nodes))
	for _, e := range p.edges {
		has[end(e)] = true
	}
	for i, h := range has {
		if !h {
			places = append(places, i)
		}
	}
	return places
}

const criticalColor = "#c0392b"

// fillColor tells apart what computes, what moves data, what only orders, and
// what has graphs in it.
func fillColor(t Type) string {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_KERNEL:
		return "#d6e9c6"
	case cu.CU_GRAPH_NODE_TYPE_MEMCPY, cu.CU_GRAPH_NODE_TYPE_MEMSET:
		return "#d0e4f5"
	case cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC, cu.CU_GRAPH_NODE_TYPE_MEM_FREE:
		return "#e6dcf5"
	case cu.CU_GRAPH_NODE_TYPE_HOST:
		return "#fbe5c8"
	case cu.CU_GRAPH_NODE_TYPE_GRAPH, cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return "#fdf3c0"
	}
	return "#eeeeee"
}
