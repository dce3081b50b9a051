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

func (m *profiling) profile(ctx context.Context, g *Graph) (*Profile, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	err := m.makeEvents()
	p := &Profile{Rounds: m.rounds, times: make(map[Node]NodeTime)}
	if err == nil {
		err = m.fill(ctx, g, p)
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
func (m *profiling) takeOff(ctx context.Context, p *Profile) (err error) {
	if p.Overhead, err = m.overhead(ctx); err != nil {
		return err
	}
	for n, t := range p.times {
		t.Time = max(0, t.Time-p.Overhead)
		p.times[n] = t
	}
	return nil
}

// overhead measures an empty node.
func (m *profiling) overhead(ctx context.Context) (time.Duration, error) {
	g, err := New(m.s.Context())
	if err != nil {
		return 0, err
	}
	n, err := g.AddEmpty()
	p := &Profile{times: make(map[Node]NodeTime)}
	if err == nil {
		err = m.fill(ctx, g, p)
	}
	return p.times[n].Time, errors.Join(err, g.Close())
}

// fill measures a graph: as it is, then with the probes in it. Of some graphs
// there can be only one Exec at a time.
func (m *profiling) fill(ctx context.Context, g *Graph, p *Profile) (err error) {
	if p.Run, err = m.measurePlain(ctx, g); err != nil {
		return err
	}
	x, probes, err := m.probedExec(g, p)
	if err != nil {
		return err
	}
	p.Measured, err = m.run(ctx, x, probes)
	probes.each(func(t *probe) {
		p.times[t.node] = t.median()
	})
	return errors.Join(err, x.Close(), probes.close())
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

// probedExec makes an Exec of the graph with the probes in it, and the picture
// of what is measured.
func (m *profiling) probedExec(g *Graph, p *Profile) (x *Exec, all probes, err error) {
	if err := g.lock(); err != nil {
		return nil, nil, err
	}
	defer g.mu.Unlock()
	if p.picture, err = measurable(g, m.s); err != nil {
		return nil, nil, err
	}
	if err = all.make(p.picture); err == nil {
		x, err = g.probedExec(all, m.oneByOne)
	}
	if err != nil {
		return nil, nil, errors.Join(err, x.Close(), all.close())
	}
	return x, all, nil
}

// measurable takes the picture of a graph that is locked, and says why it cannot
// be measured, if so.
func measurable(g *Graph, s *driver.Stream) (*picture, error) {
	if g.part {
		return nil, invalid("it lies in a node; profile the graph that is launched")
	}
	if err := sameContext(g.ctx, s, s.Context()); err != nil {
		return nil, err
	}
	p, err := g.pictured(nil)
	if err != nil {
		return nil, err
	}
	p.each(func(in *picture, i int) {
		if n := &in.nodes[i]; err == nil && isMemoryNode(n.typ) {
			err = refuse(driver.CUDA_ERROR_NOT_SUPPORTED, "node %s is of type %s, and the driver takes no node out of graphs with memory nodes; measure it with the memory allocated before", n.number(), typeName(n.typ))
		}
	})
	return p, err
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
