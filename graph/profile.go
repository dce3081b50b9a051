package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/access"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/life"
)

// Profile is the result of measuring a graph with [Graph.Profile]. All times, including those of
// nodes, are medians over the measured runs.
type Profile struct {
	// Rounds is the number of measured runs.
	Rounds int
	// Run is the time of a launch of the unchanged graph, from an event before the launch to one
	// after it.
	Run time.Duration
	// Measured is the time of a launch with the measuring events around each node. The difference
	// from Run is the cost of measuring.
	Measured time.Duration
	// Overhead is the time measured for an empty node. It is already subtracted from the times of
	// nodes, but not from Run and Measured.
	Overhead time.Duration
}

// ProfileOption configures Profile.
type ProfileOption func(*profiling)

// WithRounds sets the number of measured runs. The default is 5.
func WithRounds(n int) ProfileOption {
	return func(p *profiling) { p.rounds = n }
}

// WithOneByOne runs the nodes one after the other while they are measured, so that concurrent nodes
// do not slow each other down. Do not use it if a node waits, while running, for data of a node
// that it does not depend on. It could wait forever.
func WithOneByOne() ProfileOption {
	return func(p *profiling) { p.oneByOne = true }
}

// Profile runs the graph and measures each node on the device with events directly before and
// after it. It also measures the nodes of child graphs, but the bodies of a conditional node only
// as a whole. When all runs have ended, it returns a snapshot of the graph with the times. It
// needs CUDA 11.1.
//
// A node's time is the interval from when the node could begin until its results are visible. For a
// kernel that does nothing, it is a few microseconds. Most of this time disappears when kernels
// follow one another without events between them.
//
// The graph runs 2 × (rounds + 1) times on s, with all its effects on memory. In the first half of
// the runs the graph is unchanged. In the second half it contains the events. Profile changes the
// graph to instantiate the measured Exec, and then restores the graph.
//
// The times of concurrent nodes include waiting for device resources: see [WithOneByOne]. The
// events keep kernels with programmatic edges from overlapping.
//
// A graph that allocates or frees cannot be measured (CUDA_ERROR_NOT_SUPPORTED), because the driver
// cannot remove its nodes or copy it. A graph with conditional nodes can have only one Exec at a
// time, so it must have none when Profile is called.
func (g *Graph) Profile(ctx context.Context, s *driver.Stream, opts ...ProfileOption) (*Snapshot, error) {
	m := &profiling{rounds: 5, s: s}
	absent.Apply(opts, m)
	p, err := m.profile(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("cannot profile %v: %w", g, err)
	}
	return p, nil
}

type profiling struct {
	rounds     int
	oneByOne   bool
	s          *driver.Stream
	begin, end *driver.Event // events around a launch
}

func (m *profiling) profile(ctx context.Context, g *Graph) (*Snapshot, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	err := m.makeEvents()
	var p *Snapshot
	if err == nil {
		p, err = m.measure(ctx, g)
	}
	if err == nil {
		err = m.subtractOverhead(ctx, p)
	}
	if err = errors.Join(err, m.begin.Close(), m.end.Close()); err != nil {
		return nil, err
	}
	return p, nil
}

func (m *profiling) check() error {
	if m.rounds < 1 {
		return invalid("%d rounds measure nothing", m.rounds)
	}
	if err := m.s.Ready(); err != nil {
		return err
	}
	status, _, _, err := m.s.CaptureStatus()
	if err == nil && status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		err = refuse(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%v captures; the runs that are measured need a stream that executes", m.s)
	}
	return err
}

func (m *profiling) makeEvents() (err error) {
	if m.begin, err = m.s.Context().NewEvent(driver.WithTiming()); err != nil {
		return err
	}
	m.end, err = m.s.Context().NewEvent(driver.WithTiming())
	return err
}

// subtractOverhead subtracts the time of an empty node from the times of nodes.
func (m *profiling) subtractOverhead(ctx context.Context, p *Snapshot) error {
	overhead, err := m.overhead(ctx)
	if err != nil {
		return err
	}
	p.Profile.Overhead = overhead
	for n := range p.All() {
		n.Time = max(0, n.Time-overhead)
	}
	return nil
}

func (m *profiling) overhead(ctx context.Context) (time.Duration, error) {
	g, err := New(m.s.Context())
	if err != nil {
		return 0, err
	}
	if _, err := g.AddEmpty(); err != nil {
		return 0, errors.Join(err, g.Close())
	}
	p, err := m.measure(ctx, g)
	if err = errors.Join(err, g.Close()); err != nil {
		return 0, err
	}
	return p.Nodes[0].Time, nil
}

// measure measures a graph first unchanged and then with probes. It closes the first Exec before it
// creates the second, because some graphs can have only one Exec at a time.
func (m *profiling) measure(ctx context.Context, g *Graph) (*Snapshot, error) {
	run, err := m.measurePlain(ctx, g)
	if err != nil {
		return nil, err
	}
	x, s, probes, err := m.probedExec(g)
	if err != nil {
		return nil, err
	}
	measured, err := m.run(ctx, x, probes)
	probes.each(func(t *probe) {
		t.Timed, t.Start, t.Time = true, median(t.starts), median(t.times)
	})
	s.Profile = &Profile{Rounds: m.rounds, Run: run, Measured: measured}
	return s, errors.Join(err, x.Close(), probes.close())
}

func (m *profiling) measurePlain(ctx context.Context, g *Graph) (time.Duration, error) {
	x, err := m.plainExec(g)
	if err != nil {
		return 0, err
	}
	t, err := m.run(ctx, x, nil)
	return t, errors.Join(err, x.Close())
}

func (m *profiling) plainExec(g *Graph) (*Exec, error) {
	if err := g.lock(); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	if _, err := measurable(g, m.s); err != nil {
		return nil, err
	}
	return g.exec(options{})
}

// probedExec creates an Exec of the graph with probes, and the snapshot for the results.
func (m *profiling) probedExec(g *Graph) (x *Exec, s *Snapshot, all probes, err error) {
	if err := g.lock(); err != nil {
		return nil, nil, nil, err
	}
	defer g.mu.Unlock()
	if s, err = measurable(g, m.s); err != nil {
		return nil, nil, nil, err
	}
	if err = all.make(s); err == nil {
		x, err = g.probedExec(all, m.oneByOne)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, x.Close(), all.close())
	}
	return x, s, all, nil
}

// measurable returns the snapshot of the graph, or the reason why it cannot be measured. The caller
// must hold the graph's lock.
func measurable(g *Graph, stream *driver.Stream) (*Snapshot, error) {
	if g.part {
		return nil, invalid("it lies in a node; profile the graph that is launched")
	}
	if err := sameContext(g.ctx, stream, stream.Context()); err != nil {
		return nil, err
	}
	s, err := g.snapshot("")
	if err != nil {
		return nil, err
	}
	for n := range s.All() {
		if isMemoryNode(n.Type) {
			return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "node %s is of type %s, and the driver removes no node from graphs with memory nodes; measure it with the memory allocated before", n.ID, n.Kind)
		}
	}
	return s, nil
}

// run launches an Exec once to warm up, and then m.rounds times. After each of these launches it
// reads the probes. It returns the median time of a launch.
func (m *profiling) run(ctx context.Context, x *Exec, probes probes) (time.Duration, error) {
	var times []time.Duration
	for i := range m.rounds + 1 {
		t, err := m.launch(ctx, x)
		if err == nil && i > 0 {
			times = append(times, t)
			err = probes.read(m.begin)
		}
		if err != nil {
			return 0, err
		}
	}
	return median(times), nil
}

func (m *profiling) launch(ctx context.Context, x *Exec) (time.Duration, error) {
	if err := m.s.Record(m.begin); err != nil {
		return 0, err
	}
	if err := x.Launch(m.s); err != nil {
		return 0, err
	}
	if err := m.s.Record(m.end); err != nil {
		return 0, err
	}
	if err := x.Wait(ctx); err != nil {
		return 0, err
	}
	return m.end.Elapsed(m.begin)
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// probe measures a node with events directly before and after it. The graph contains nodes for the
// events only while the Exec is created.
type probe struct {
	*SnapshotNode // the measured node
	before, after *driver.Event
	nodes         [2]cu.CUgraphNode
	starts, times []time.Duration
}

// probes has one level for the graph and one for each of its child graphs.
type probes []level

type level struct {
	*Snapshot
	g      *Graph
	probes []probe // one for each node of the snapshot
}

// make creates the events for all nodes of s and of its child graphs. It creates none for nodes in
// the body of a conditional node, because bodies cannot contain events.
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

// probedExec creates an Exec of the graph with probes, and then removes the probes from the graph.
// The probes never enter the graph's tables. The caller must hold the graph's lock.
func (g *Graph) probedExec(all probes, oneByOne bool) (x *Exec, err error) {
	if err = all.insert(oneByOne); err == nil {
		x, err = g.exec(options{})
	}
	refs := all.events()
	if stay := all.remove(); stay != nil {
		// Nodes that could not be removed refer to the events, so the graph must retain the events.
		err = errors.Join(err, stay, g.changeRefs().RetainLoose(refs))
	}
	if err == nil {
		err = x.changeRefs().RetainLoose(refs) // an interrupted wait leaves a launch in flight
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

// insert adds an event record node before and one after each node of a graph. The node's dependents
// also run after the second event, so the events measure only this node.
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

// joinAsBefore orders the probes like the graph's own edges. Like joinInOrder, it only gathers the
// edges in g.from and g.to.
func (l *level) joinAsBefore() {
	for _, e := range l.Edges {
		l.join(e.From, e.To)
	}
}

// joinInOrder orders the probes one after the other, in an order that respects the graph's edges.
func (l *level) joinInOrder() {
	after := make([][]int, len(l.Nodes))
	for _, e := range l.Edges {
		after[e.To] = append(after[e.To], e.From)
	}
	o := access.NewOrder(after)
	if o == nil { // a cycle, which cannot occur in a graph that runs
		l.joinAsBefore()
		return
	}
	for i := range len(o.List) - 1 {
		l.join(o.List[i], o.List[i+1])
	}
}

// join gathers the edge from the end of one probe to the beginning of another.
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

// remove removes all probe nodes that can be removed from the graph.
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
