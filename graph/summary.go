package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Summary is a graph in figures. Those of the graphs in its nodes are in Inside
// and Types alone.
type Summary struct {
	Nodes, Edges  int
	Roots, Leaves int          // nodes that depend on none, nodes on which none depends
	Depth         int          // nodes on the longest path
	Width         int          // the most nodes that lie equally deep
	Inside        int          // nodes of graphs in nodes, at any depth
	Types         map[Type]int // how many there are of each type, with those inside
}

// Summary returns the graph in figures.
func (g *Graph) Summary() (Summary, error) {
	p, err := g.picture()
	if err != nil {
		return Summary{}, fmt.Errorf("summary of %v: %w", g, err)
	}
	return p.summary(), nil
}

func (p *picture) summary() Summary {
	s := Summary{Nodes: len(p.nodes), Edges: len(p.edges), Roots: len(p.roots()),
		Leaves: len(p.leaves()), Types: make(map[Type]int)}
	width := make([]int, len(p.nodes))
	for _, l := range p.levels() {
		width[l]++
		s.Depth, s.Width = max(s.Depth, l+1), max(s.Width, width[l])
	}
	p.each(func(in *picture, i int) {
		s.Types[in.nodes[i].typ]++
		if in != p {
			s.Inside++
		}
	})
	return s
}

// String is two lines: the shape of the graph, and how many nodes of which type
// there are.
func (s Summary) String() string {
	shape := fmt.Sprintf("%s, %s, %s, %s, depth %d, width %d",
		plural(s.Nodes, "node"), plural(s.Edges, "edge"), plural(s.Roots, "root"), leaves(s.Leaves), s.Depth, s.Width)
	if s.Inside > 0 {
		shape += fmt.Sprintf(", %s inside nodes", plural(s.Inside, "node"))
	}
	if len(s.Types) == 0 {
		return shape
	}
	return shape + "\n" + s.types()
}

func leaves(n int) string {
	if n == 1 {
		return "1 leaf"
	}
	return fmt.Sprintf("%d leaves", n)
}

func (s Summary) types() string {
	var all []Type
	for t := range s.Types {
		all = append(all, t)
	}
	slices.Sort(all)
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = fmt.Sprintf("%d × %s", s.Types[t], typeName(t))
	}
	return strings.Join(words, ", ")
}

// WriteSummary writes the graph as a table: its figures, then a line for each
// node, with what it does and which nodes it runs after. Nodes of a graph in a
// node follow that node; 3.0.1 is node 1 of the first graph in node 3. With
// [Timed] there are columns for when a node began and how long it took, and
// nodes on a critical path have a star.
func (g *Graph) WriteSummary(w io.Writer, opts ...DrawOption) error {
	d, err := g.drawing(opts)
	if err != nil {
		return fmt.Errorf("summary of %v: %w", g, err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %v\n", d.title, d.summary())
	if d.profile != nil {
		fmt.Fprintf(b, "%v\n", d.profile)
	}
	if len(d.nodes) > 0 {
		b.WriteString("\n")
		d.table(b)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func (d *drawing) table(b *strings.Builder) {
	text := &strings.Builder{}
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	head := []string{"node", "name", "does", "with", "after"}
	if d.profile != nil {
		head = append(head, "begins", "takes", "")
	}
	row(t, head)
	d.each(func(p *picture, i int) { row(t, d.columns(p, i)) })
	_ = t.Flush() // to a Builder, which takes everything
	for l := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
}

func row(w io.Writer, columns []string) {
	for i, c := range columns {
		if c == "" {
			columns[i] = " "
		}
	}
	fmt.Fprintln(w, strings.Join(columns, "\t"))
}

func (d *drawing) columns(p *picture, i int) []string {
	n := &p.nodes[i]
	c := []string{n.number(), n.name, n.does, d.with(n), p.runsAfter(i)}
	if d.profile == nil {
		return c
	}
	t, ok := d.profile.Time(n.Node)
	if !ok {
		return append(c, "", "", "")
	}
	mark := ""
	if d.onPath[n.Node] {
		mark = "*"
	}
	return append(c, micros(t.Start), micros(t.Time), mark)
}

func (d *drawing) with(n *pictured) string {
	if d.off[n.Node] {
		return strings.TrimSpace(n.detail + " (off)")
	}
	return n.detail
}

// runsAfter lists what the node at place i runs after, by their numbers.
func (p *picture) runsAfter(i int) string {
	from := make([]string, len(p.after[i]))
	for j, f := range p.after[i] {
		from[j] = p.nodes[f].number()
	}
	return strings.Join(from, " ")
}
