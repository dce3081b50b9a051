package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// WriteDOT draws a snapshot, including the graphs inside its nodes, in the DOT language of
// Graphviz. A node is labelled with its number, as in error messages, and with its own name or, if
// it has none, its kernel's name (from CUDA 12.3 on). Equal snapshots produce equal drawings.
//
// A snapshot from Graph.Profile is drawn with the time of each node. WriteDOT marks the critical
// path of the graph and of each child graph on that path. WriteDOT also marks nodes that are
// disabled in the snapshot's Exec.
//
// For the driver's own drawing, with addresses and handles, see Graph.DriverDOT.
func WriteDOT(w io.Writer, s *graph.Snapshot, opts ...Option) error {
	d, err := newDrawing(s, opts)
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "digraph %s {\n", quoted(d.title))
	fmt.Fprintf(b, "\tlabel=%s;\n\tlabelloc=t;\n\tcompound=true;\n", quoted(d.title))
	b.WriteString("\tnode [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n")
	d.dot(b, d.Snapshot, "\t")
	b.WriteString("}\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func (d *drawing) dot(b *strings.Builder, s *graph.Snapshot, indent string) {
	for i := range s.Nodes {
		d.dotNode(b, &s.Nodes[i], indent)
	}
	for _, e := range s.Edges {
		from, to := &s.Nodes[e.From], &s.Nodes[e.To]
		fmt.Fprintf(b, "%s%s -> %s%s;\n", indent, id(from), id(to), attributes(d.dotEdge(s, e)))
		for _, in := range from.Graphs {
			keepAbove(b, in, to, indent)
		}
	}
}

// keepAbove adds an invisible edge so that Graphviz draws a nested graph above the nodes that run
// after its node.
func keepAbove(b *strings.Builder, s *graph.Snapshot, to *graph.SnapshotNode, indent string) {
	ends := leaves(s)
	if len(ends) == 0 {
		return
	}
	last := &s.Nodes[ends[len(ends)-1]]
	fmt.Fprintf(b, "%s%s -> %s [style=invis];\n", indent, id(last), id(to))
	for _, in := range last.Graphs {
		keepAbove(b, in, to, indent)
	}
}

func (d *drawing) dotNode(b *strings.Builder, n *graph.SnapshotNode, indent string) {
	if len(n.Graphs) == 0 {
		d.dotBox(b, n, indent)
		return
	}
	fmt.Fprintf(b, "%ssubgraph cluster_%s {\n%s\tlabel=\"\";\n", indent, id(n), indent)
	d.dotBox(b, n, indent+"\t")
	for i, in := range n.Graphs {
		d.dotInside(b, n, i, in, indent+"\t")
	}
	fmt.Fprintf(b, "%s}\n", indent)
}

// dotInside draws a nested graph as a separate cluster, with a dotted line from its node.
func (d *drawing) dotInside(b *strings.Builder, n *graph.SnapshotNode, i int, in *graph.Snapshot, indent string) {
	fmt.Fprintf(b, "%ssubgraph cluster_%s_%d {\n%s\tlabel=%s;\n", indent, id(n), i, indent, quoted(in.Label))
	d.dot(b, in, indent+"\t")
	fmt.Fprintf(b, "%s}\n", indent)
	for _, r := range roots(in) {
		fmt.Fprintf(b, "%s%s -> %s [style=dotted, arrowhead=none];\n", indent, id(n), id(&in.Nodes[r]))
	}
}

func (d *drawing) dotBox(b *strings.Builder, n *graph.SnapshotNode, indent string) {
	attrs := []string{"label=" + quoted(strings.Join(d.lines(n), "\n")), "fillcolor=" + quoted(fillColor(n.Type))}
	if d.onPath[n] {
		attrs = append(attrs, "color="+quoted(criticalColor), "penwidth=3")
	}
	if n.Off {
		attrs = append(attrs, `style="rounded,dashed"`)
	}
	fmt.Fprintf(b, "%s%s%s;\n", indent, id(n), attributes(attrs))
}

func (d *drawing) dotEdge(s *graph.Snapshot, e graph.SnapshotEdge) (attrs []string) {
	from, to := &s.Nodes[e.From], &s.Nodes[e.To]
	if len(from.Graphs) > 0 {
		attrs = append(attrs, "ltail=cluster_"+id(from))
	}
	if len(to.Graphs) > 0 {
		attrs = append(attrs, "lhead=cluster_"+id(to))
	}
	if programmatic(e) {
		attrs = append(attrs, "style=dashed", `label="programmatic"`)
	}
	if d.isCritical(s, e) {
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

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

const criticalColor = "#c0392b"

// fillColor groups node types by colour: kernels, copies and fills, memory nodes, host functions,
// and nodes with graphs. All other nodes are grey.
func fillColor(t graph.Type) string {
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
