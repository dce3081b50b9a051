package view

import (
	"strings"
	"time"

	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/internal/absent"
)

// Option configures WriteDOT, WriteMermaid and WriteTable.
type Option func(*drawing)

// Titled sets the title of a drawing. The default is "graph".
func Titled(title string) Option {
	return func(d *drawing) { d.title = title }
}

// Detailed adds the parameters of each node to a drawing, such as the grid of a kernel or the
// bytes of a copy. A table always shows them.
func Detailed() Option {
	return func(d *drawing) { d.details = true }
}

type drawing struct {
	*graph.Snapshot
	title   string
	details bool

	onPath   map[*graph.SnapshotNode]bool
	lineTo   map[*graph.SnapshotNode]*graph.SnapshotNode // for each node on a critical path, the next node of that path
	numLines int                                         // number of edges written so far, because Mermaid numbers edges in this order
}

func newDrawing(s *graph.Snapshot, opts []Option) (*drawing, error) {
	if s == nil {
		return nil, refusal.Invalid("cannot draw a nil Snapshot; Graph.Snapshot returns one")
	}
	d := &drawing{Snapshot: s, title: "graph"}
	absent.Apply(opts, d)
	if s.Profile != nil {
		d.onPath = make(map[*graph.SnapshotNode]bool)
		d.lineTo = make(map[*graph.SnapshotNode]*graph.SnapshotNode)
		d.markPath(s)
	}
	return d, nil
}

// markPath marks the critical path of a measured graph.
func (d *drawing) markPath(s *graph.Snapshot) {
	path, total := CriticalPath(s)
	if total == 0 {
		return
	}
	for i, n := range path {
		d.onPath[n] = true
		if i+1 < len(path) {
			d.lineTo[n] = path[i+1]
		}
		for _, in := range n.Graphs {
			d.markPath(in)
		}
	}
}

func (d *drawing) isCritical(s *graph.Snapshot, e graph.SnapshotEdge) bool {
	from := &s.Nodes[e.From]
	return d.onPath[from] && d.lineTo[from] == &s.Nodes[e.To]
}

// lines returns the lines of a node's text: number, name, operation and time.
func (d *drawing) lines(n *graph.SnapshotNode) []string {
	text := []string{n.ID + ": " + n.Kind}
	if n.Name != "" {
		text = []string{n.ID + ": " + n.Name, n.Kind}
	}
	if d.details && n.Params != "" {
		text = append(text, n.Params)
	}
	if n.Off {
		text = append(text, "off")
	}
	if n.Timed {
		text = append(text, micros(n.Time))
	}
	return text
}

// micros formats a device time, rounded to 10 ns, the resolution of the clock.
func micros(t time.Duration) string { return t.Round(10 * time.Nanosecond).String() }

// id returns a node's identifier in drawings: n3, and n3_0_1 for node 3.0.1.
func id(n *graph.SnapshotNode) string { return "n" + strings.ReplaceAll(n.ID, ".", "_") }
