package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteMermaid draws the graph as a Mermaid flowchart, which pages in Markdown
// show without a program. What is said of [Graph.WriteDOT] holds here too.
func (g *Graph) WriteMermaid(w io.Writer, opts ...DrawOption) error {
	d, err := g.drawing(opts)
	if err != nil {
		return fmt.Errorf("drawing of %v: %w", g, err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "---\ntitle: %s\n---\nflowchart TD\n", yamlText(d.title))
	d.mermaid(b, d.picture, "\t")
	d.mermaidPath(b)
	_, err = io.WriteString(w, b.String())
	return err
}

func (d *drawing) mermaid(b *strings.Builder, p *picture, indent string) {
	for i := range p.nodes {
		d.mermaidNode(b, &p.nodes[i], indent)
	}
	for _, e := range p.edges {
		fmt.Fprintf(b, "%s%s %s %s\n", indent, p.nodes[e.from].id(), arrow(e), p.nodes[e.to].id())
		d.mermaidLine(b, p, e, indent)
	}
}

// arrow is dotted for an edge that does not wait for the end of a kernel.
func arrow(e line) string {
	if e.programmatic() {
		return "-. programmatic .->"
	}
	return "-->"
}

// mermaidLine marks the edge that was just written, if it is critical.
func (d *drawing) mermaidLine(b *strings.Builder, p *picture, e line, indent string) {
	if d.isCritical(p, e) {
		fmt.Fprintf(b, "%slinkStyle %d stroke:%s,stroke-width:3px\n", indent, d.numLines, criticalColor)
	}
	d.numLines++
}

func (d *drawing) mermaidNode(b *strings.Builder, n *pictured, indent string) {
	label := mermaidText(d.lines(n))
	if !n.hasNodesInside() {
		fmt.Fprintf(b, "%s%s[\"%s\"]\n", indent, n.id(), label)
		return
	}
	fmt.Fprintf(b, "%ssubgraph %s[\"%s\"]\n", indent, n.id(), label)
	for i, in := range n.inside {
		d.mermaidInside(b, n, i, in, indent+"\t")
	}
	fmt.Fprintf(b, "%send\n", indent)
}

// mermaidInside draws a graph in a node; one without a label needs no frame in
// that of its node.
func (d *drawing) mermaidInside(b *strings.Builder, n *pictured, i int, in *picture, indent string) {
	if in.label == "" || len(in.nodes) == 0 {
		d.mermaid(b, in, indent)
		return
	}
	fmt.Fprintf(b, "%ssubgraph %s_%d[\"%s\"]\n", indent, n.id(), i, in.label)
	d.mermaid(b, in, indent+"\t")
	fmt.Fprintf(b, "%send\n", indent)
}

// hasNodesInside reports whether a node is drawn with a frame: Mermaid has no
// empty ones.
func (n *pictured) hasNodesInside() bool {
	for _, in := range n.inside {
		if len(in.nodes) > 0 {
			return true
		}
	}
	return false
}

// mermaidPath marks the nodes of the critical paths.
func (d *drawing) mermaidPath(b *strings.Builder) {
	var ids []string
	d.each(func(p *picture, i int) {
		if n := &p.nodes[i]; d.onPath[n.Node] {
			ids = append(ids, n.id())
		}
	})
	if len(ids) == 0 {
		return
	}
	fmt.Fprintf(b, "\tclassDef critical stroke:%s,stroke-width:3px\n", criticalColor)
	fmt.Fprintf(b, "\tclass %s critical\n", strings.Join(ids, ","))
}

// mermaidText writes lines as Mermaid wants them in quotes.
func mermaidText(lines []string) string {
	r := strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "\n", "<br/>")
	for i, l := range lines {
		lines[i] = r.Replace(l)
	}
	return strings.Join(lines, "<br/>")
}

// yamlText quotes a title for the lines before the drawing.
func yamlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
