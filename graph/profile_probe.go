package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/internal/life"
)

// probe measures a node: by the events right before and right behind it, for
// each of which the graph has a node for a while.
type probe struct {
	*SnapshotNode // what is measured
	before, after *driver.Event
	nodes         [2]cu.CUgraphNode
	starts, times []time.Duration
}

// probes are those of a graph and of the child graphs in its nodes.
type probes []level

// level is one graph of them.
type level struct {
	*Snapshot
	g      *Graph
	probes []probe // of the snapshot's nodes
}

// make makes the events for all nodes that can be measured: a body of a
// conditional node may have no event in it.
func (all *probes) make(s *Snapshot) error {
	if len(s.Nodes) == 0 {
		return nil
	}
	l := level{s, s.Nodes[0].Node.g, make([]probe, len(s.Nodes))}
	*all = append(*all, l)
	for i := range l.probes {
		if err := l.probes[i].makeEvents(&s.Nodes[i]); err != nil {
			return err
		}
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Type == cu.CU_GRAPH_NODE_TYPE_GRAPH {
			if err := all.make(n.Graphs[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *probe) makeEvents(n *SnapshotNode) (err error) {
	t.SnapshotNode = n
	ctx := n.Node.g.ctx
	if t.before, err = ctx.NewEvent(driver.WithTiming()); err != nil {
		return err
	}
	t.after, err = ctx.NewEvent(driver.WithTiming())
	return err
}

// probedExec makes an Exec of a graph that is locked, with the probes in it. The
// graph has them only until then. They are in no table of it.
func (g *Graph) probedExec(all probes, oneByOne bool) (x *Exec, err error) {
	if err = all.insert(oneByOne); err == nil {
		x, err = g.exec(options{})
	}
	refs := all.events()
	if stay := all.remove(); stay != nil {
		// What stays refers to events: they stay too.
		err = errors.Join(err, stay, g.changeRefs().RetainLoose(refs))
	}
	if err == nil {
		err = x.changeRefs().RetainLoose(refs) // an interrupted wait leaves a run under way
	}
	return x, err
}

func (all probes) insert(oneByOne bool) error {
	for i := range all {
		if err := all[i].insert(oneByOne); err != nil {
			return fmt.Errorf("events around its nodes: %w", err)
		}
	}
	return nil
}

// insert adds the nodes of the probes of one graph. What runs behind a node runs
// behind its second event too, so that no event runs beside what it does not
// measure.
func (l *level) insert(oneByOne bool) error {
	g := l.g
	for i := range l.probes {
		if err := l.probes[i].insert(g); err != nil {
			return err
		}
	}
	g.from, g.to = g.from[:0], g.to[:0]
	for i := range l.probes {
		t := &l.probes[i]
		g.from, g.to = append(g.from, t.nodes[0]), append(g.to, t.Node.handle())
	}
	if oneByOne {
		l.joinInOrder()
	} else {
		l.joinAsBefore()
	}
	return g.addEdges()
}

// joinAsBefore gathers the edges of the graph, between the probes.
func (l *level) joinAsBefore() {
	for _, e := range l.Edges {
		l.join(e.From, e.To)
	}
}

// joinInOrder gathers edges by which each node runs behind the one before.
func (l *level) joinInOrder() {
	after := make([][]int, len(l.Nodes))
	for _, e := range l.Edges {
		after[e.To] = append(after[e.To], e.From)
	}
	o := access.NewOrder(after)
	if o == nil { // a cycle, which no graph that can run has
		l.joinAsBefore()
		return
	}
	for i := range len(o.List) - 1 {
		l.join(o.List[i], o.List[i+1])
	}
}

// join gathers the edge by which one probe begins behind the end of another.
func (l *level) join(from, to int) {
	g := l.g
	g.from, g.to = append(g.from, l.probes[from].nodes[1]), append(g.to, l.probes[to].nodes[0])
}

func (t *probe) insert(g *Graph) error {
	if err := g.d.CuGraphAddEventRecordNode(&t.nodes[0], g.raw, nil, 0, t.before.Raw()); err != nil {
		return err
	}
	return g.d.CuGraphAddEventRecordNode(&t.nodes[1], g.raw, &g.raws[t.Node.i], 1, t.after.Raw())
}

// remove takes the nodes of probes out of the graph, all that can be.
func (all probes) remove() error {
	var errs []error
	all.each(func(t *probe) {
		for i, n := range t.nodes {
			if n != 0 {
				errs = append(errs, t.Node.g.d.CuGraphDestroyNode(n))
				t.nodes[i] = 0
			}
		}
	})
	return errors.Join(errs...)
}

func (all probes) each(f func(t *probe)) {
	for _, l := range all {
		for i := range l.probes {
			f(&l.probes[i])
		}
	}
}

func (all probes) events() (refs []life.Ref) {
	all.each(func(t *probe) { refs = append(refs, t.before, t.after) })
	return refs
}

func (all probes) close() error {
	var errs []error
	all.each(func(t *probe) { errs = append(errs, t.before.Close(), t.after.Close()) })
	return errors.Join(errs...)
}

// read takes what the latest run measured.
func (all probes) read(begin *driver.Event) (err error) {
	all.each(func(t *probe) {
		if err == nil {
			err = t.read(begin)
		}
	})
	return err
}

func (t *probe) read(begin *driver.Event) error {
	start, err := t.before.Elapsed(begin)
	if err != nil {
		return err
	}
	took, err := t.after.Elapsed(t.before)
	if err != nil {
		return err
	}
	t.starts, t.times = append(t.starts, start), append(t.times, took)
	return nil
}
