package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/graph"
)

// WriteMermaid draws a snapshot as a Mermaid flowchart, which GitHub and other Markdown viewers
// show as a diagram. It shows the same information as [WriteDOT].
func WriteMermaid(w io.Writer, s *graph.Snapshot, opts ...Option) error {
	d, err := newDrawing(s, opts)
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "---\ntitle: %s\n---\nflowchart TD\n", yamlText(d.title))
	d.mermaid(b, d.Snapshot, "\t")
	d.mermaidPath(b)
	_, err = io.WriteString(w, b.String())
	return err
}

func (d *drawing) mermaid(b *strings.Builder, s *graph.Snapshot, indent string) {
	for i := range s.Nodes {
		d.mermaidNode(b, &s.Nodes[i], indent)
	}
	for _, e := range s.Edges {
		fmt.Fprintf(b, "%s%s %s %s\n", indent, id(&s.Nodes[e.From]), arrow(e), id(&s.Nodes[e.To]))
		d.mermaidLine(b, s, e, indent)
	}
}

func arrow(e graph.SnapshotEdge) string {
	if programmatic(e) {
		return "-. programmatic .->"
	}
	return "-->"
}

// mermaidLine counts the edge just written, and marks it if it is critical.
func (d *drawing) mermaidLine(b *strings.Builder, s *graph.Snapshot, e graph.SnapshotEdge, indent string) {
	if d.isCritical(s, e) {
		fmt.Fprintf(b, "%slinkStyle %d stroke:%s,stroke-width:3px\n", indent, d.numLines, criticalColor)
	}
	d.numLines++
}

func (d *drawing) mermaidNode(b *strings.Builder, n *graph.SnapshotNode, indent string) {
	label := mermaidText(d.lines(n))
	if !hasNodesInside(n) {
		fmt.Fprintf(b, "%s%s[\"%s\"]\n", indent, id(n), label)
		return
	}
	fmt.Fprintf(b, "%ssubgraph %s[\"%s\"]\n", indent, id(n), label)
	for i, in := range n.Graphs {
		d.mermaidInside(b, n, i, in, indent+"\t")
	}
	fmt.Fprintf(b, "%send\n", indent)
}

// mermaidInside draws a nested graph. A graph without a label needs no frame.
func (d *drawing) mermaidInside(b *strings.Builder, n *graph.SnapshotNode, i int, in *graph.Snapshot, indent string) {
	if in.Label == "" || len(in.Nodes) == 0 {
		d.mermaid(b, in, indent)
		return
	}
	fmt.Fprintf(b, "%ssubgraph %s_%d[\"%s\"]\n", indent, id(n), i, in.Label)
	d.mermaid(b, in, indent+"\t")
	fmt.Fprintf(b, "%send\n", indent)
}

// hasNodesInside reports whether to draw a node with a frame around its nested graphs. Mermaid does
// not allow empty frames.
func hasNodesInside(n *graph.SnapshotNode) bool {
	for _, in := range n.Graphs {
		if len(in.Nodes) > 0 {
			return true
		}
	}
	return false
}

func (d *drawing) mermaidPath(b *strings.Builder) {
	var ids []string
	for n := range d.All() {
		if d.onPath[n] {
			ids = append(ids, id(n))
		}
	}
	if len(ids) == 0 {
		return
	}
	fmt.Fprintf(b, "\tclassDef critical stroke:%s,stroke-width:3px\n", criticalColor)
	fmt.Fprintf(b, "\tclass %s critical\n", strings.Join(ids, ","))
}

// mermaidText escapes and joins lines for a quoted Mermaid string. It overwrites lines.
func mermaidText(lines []string) string {
	r := strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "\n", "<br/>")
	for i, l := range lines {
		lines[i] = r.Replace(l)
	}
	return strings.Join(lines, "<br/>")
}

func yamlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
