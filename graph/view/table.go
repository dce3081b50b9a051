package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/purecuda/cuda/graph"
)

// WriteTable writes a snapshot as a table. The first lines are its [Summary]. A line for each node
// follows, with the node's operation and dependencies. The nodes of a nested graph follow the node
// that contains it. For a snapshot from Graph.Profile, columns show each node's start and duration.
// A star marks nodes on a critical path.
func WriteTable(w io.Writer, s *graph.Snapshot, opts ...Option) error {
	d, err := newDrawing(s, opts)
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %v\n", d.title, Summarize(s))
	if s.Profile != nil {
		fmt.Fprintf(b, "%s\n", profileLine(s))
	}
	if len(s.Nodes) > 0 {
		b.WriteString("\n")
		d.table(b)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// profileLine describes the time of a run, the critical path and the cost of measuring.
func profileLine(s *graph.Snapshot) string {
	path, total := CriticalPath(s)
	p := s.Profile
	return fmt.Sprintf("runs in %s; critical path of %s: %s; with events around each node %s, of which an empty node has %s (medians of %d)",
		micros(p.Run), plural(len(path), "node"), micros(total), micros(p.Measured), micros(p.Overhead), p.Rounds)
}

func (d *drawing) table(b *strings.Builder) {
	text := &strings.Builder{}
	t := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	head := []string{"node", "name", "does", "with", "after"}
	if d.Profile != nil {
		head = append(head, "begins", "takes", "")
	}
	row(t, head)
	d.rows(t, d.Snapshot)
	_ = t.Flush() // a Builder never fails
	for l := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
}

// rows writes the nodes of a graph, each followed by the nodes of its nested graphs.
func (d *drawing) rows(t io.Writer, s *graph.Snapshot) {
	before := runsAfter(s)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		after := make([]string, len(before[i]))
		for j, from := range before[i] {
			after[j] = s.Nodes[from].ID
		}
		row(t, d.columns(n, strings.Join(after, " ")))
		for _, in := range n.Graphs {
			d.rows(t, in)
		}
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

func (d *drawing) columns(n *graph.SnapshotNode, after string) []string {
	with := n.Params
	if n.Off {
		with = strings.TrimSpace(with + " (off)")
	}
	c := []string{n.ID, n.Name, n.Kind, with, after}
	switch {
	case d.Profile == nil:
		return c
	case !n.Timed:
		return append(c, "", "", "")
	case d.onPath[n]:
		return append(c, micros(n.Start), micros(n.Time), "*")
	}
	return append(c, micros(n.Start), micros(n.Time), "")
}
