package graph

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// profiling is a Profile in the making.
type profiling struct {
	rounds     int
	oneByOne   bool
	s          *driver.Stream
	begin, end *driver.Event // around a launch
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
		err = m.takeOff(ctx, p)
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
	status, _, err := m.s.CaptureStatus()
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

// takeOff takes what an empty node measures off the times of nodes.
func (m *profiling) takeOff(ctx context.Context, p *Snapshot) error {
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

// overhead measures an empty node.
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

// measure measures a graph: as it is, then with the probes in it. Of some graphs
// there can be only one Exec at a time.
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

// probedExec makes an Exec of the graph with the probes in it, and the snapshot
// of what is measured.
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

// measurable takes the snapshot of a graph that is locked, and says why it cannot
// be measured, if so.
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
			return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "node %s is of type %s, and the driver takes no node out of graphs with memory nodes; measure it with the memory allocated before", n.ID, n.Kind)
		}
	}
	return s, nil
}

// run launches an Exec once to warm up, then for each round, and reads the
// probes after each of these.
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
