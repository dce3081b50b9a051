package graph

import (
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// DrawOption changes what WriteDOT, WriteMermaid and WriteSummary show.
type DrawOption func(*drawing)

// Titled gives a drawing a title, in place of "graph".
func Titled(title string) DrawOption {
	return func(d *drawing) { d.title = title }
}

// Detailed has each node say more of what it does: the grid of a kernel, the
// bytes of a copy. A summary always does.
func Detailed() DrawOption {
	return func(d *drawing) { d.details = true }
}

// Timed writes to each node how long it took, and marks the critical path: that
// of the graph, and that of the graphs in nodes which are on it. Nodes that p
// knows nothing of are drawn without.
func Timed(p *Profile) DrawOption {
	return func(d *drawing) { d.profile = p }
}

// OffIn marks the nodes that are switched off in an Exec of the graph (CUDA 11.6,
// see [Exec.Enable]).
func OffIn(x *Exec) DrawOption {
	return func(d *drawing) { d.exec, d.wantsOff = x, true }
}

// drawing is a picture and how it is to be shown.
type drawing struct {
	*picture
	title   string
	details bool
	profile *Profile

	exec     *Exec // whose nodes may be off
	wantsOff bool
	off      map[Node]bool

	onPath   map[Node]bool
	lineTo   map[Node]Node // of a node on a critical path: the next
	numLines int           // written so far, for Mermaid, which knows edges by number
}

func (g *Graph) drawing(opts []DrawOption) (*drawing, error) {
	d := &drawing{title: "graph"}
	absent.Apply(opts, d)
	var err error
	if d.picture, err = g.picture(); err != nil {
		return nil, err
	}
	if err := d.markOff(g); err != nil {
		return nil, err
	}
	if d.profile != nil {
		d.onPath, d.lineTo = make(map[Node]bool), make(map[Node]Node)
		d.markPath(d.picture)
	}
	return d, nil
}

// markOff asks the exec which nodes are off. Of those in nodes it does not tell.
func (d *drawing) markOff(g *Graph) error {
	if !d.wantsOff {
		return nil
	}
	if x := d.exec; x.Graph() != g {
		return invalid("%v was not made from it", x)
	}
	d.off = make(map[Node]bool)
	for i := range d.nodes {
		n := &d.nodes[i]
		if !canBeOff(n.typ) {
			continue
		}
		on, err := d.exec.Enabled(n.Node)
		if err != nil {
			return err
		}
		d.off[n.Node] = !on
	}
	return nil
}

func canBeOff(t Type) bool {
	return t == cu.CU_GRAPH_NODE_TYPE_KERNEL || t == cu.CU_GRAPH_NODE_TYPE_MEMCPY || t == cu.CU_GRAPH_NODE_TYPE_MEMSET
}

// markPath marks the critical path of a picture in which something was measured.
func (d *drawing) markPath(p *picture) {
	path, total := p.critical(d.profile.length)
	if total == 0 {
		return
	}
	for at, i := range path {
		n := &p.nodes[i]
		d.onPath[n.Node] = true
		if at+1 < len(path) {
			d.lineTo[n.Node] = p.nodes[path[at+1]].Node
		}
		for _, in := range n.inside {
			d.markPath(in)
		}
	}
}

// isCritical reports whether an edge is on a critical path.
func (d *drawing) isCritical(p *picture, e line) bool {
	return d.onPath[p.nodes[e.from].Node] && d.lineTo[p.nodes[e.from].Node] == p.nodes[e.to].Node
}

// lines is the text of a node: number and name, what it does, how long it took.
func (d *drawing) lines(n *pictured) []string {
	text := []string{n.number() + ": " + n.does}
	if n.name != "" {
		text = []string{n.number() + ": " + n.name, n.does}
	}
	if d.details && n.detail != "" {
		text = append(text, n.detail)
	}
	if d.off[n.Node] {
		text = append(text, "off")
	}
	if t, ok := d.time(n); ok {
		text = append(text, t)
	}
	return text
}

// time is how long a node took, in words, if that is known.
func (d *drawing) time(n *pictured) (string, bool) {
	if d.profile == nil {
		return "", false
	}
	t, ok := d.profile.Time(n.Node)
	return micros(t.Time), ok
}

// micros writes a time of the device, whose clock is no finer than this.
func micros(t time.Duration) string { return t.Round(10 * time.Nanosecond).String() }
