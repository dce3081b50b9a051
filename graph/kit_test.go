package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

const (
	kernels = graphtest.Kernels
	elems   = graphtest.Elems

	allocsAllowed = graphtest.AllocsAllowed
	allocsPerCall = graphtest.AllocsPerCall
	raceDetector  = graphtest.RaceDetector
)

var config = graphtest.Config

type nullCapture = graphtest.NullCapture

func nullDriver(t testing.TB) *driver.Driver { return graphtest.NullDriver(t) }

// kit is what most tests need: a stream, the kernels and memory of ones.
type kit struct {
	testing.TB
	c                *driver.Context
	s                *driver.Stream
	m                *driver.Module
	plus, times, sum *driver.Kernel
}

func newKit(t testing.TB, c *driver.Context) *kit {
	t.Helper()
	k := &kit{TB: t, c: c}
	var err error
	k.s, err = c.NewStream()
	k.ok(err)
	k.closeLater(k.s)
	k.m, err = c.LoadModule([]byte(kernels))
	k.ok(err)
	k.closeLater(k.m)
	for name, to := range map[string]**driver.Kernel{"plus": &k.plus, "times": &k.times, "sum": &k.sum} {
		*to, err = k.m.Kernel(name)
		k.ok(err)
	}
	return k
}

// each runs a test with a kit on every driver.
func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) { test(newKit(t, c)) })
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

type closer interface{ Close() error }

func (k *kit) closeLater(c closer) {
	k.Cleanup(func() {
		if err := c.Close(); err != nil {
			k.Errorf("close: %v", err)
		}
	})
}

func (k *kit) stream() *driver.Stream {
	k.Helper()
	s, err := k.c.NewStream()
	k.ok(err)
	k.closeLater(s)
	return s
}

// memory returns device memory that holds ones.
func (k *kit) memory() *driver.Buffer[uint32] {
	k.Helper()
	b := k.memoryOf(1)
	k.closeLater(b)
	return b
}

func (k *kit) memoryOf(v uint32) *driver.Buffer[uint32] {
	k.Helper()
	b, err := driver.Alloc[uint32](k.c, elems)
	k.ok(err)
	k.ok(b.Fill(v))
	return b
}

func (k *kit) launch(f *driver.Kernel, b driver.Memory, v uint32) *driver.Launch {
	k.Helper()
	l, err := f.Prepare(config, b, uint32(elems), v)
	k.ok(err)
	return l
}

func (k *kit) wait(s *driver.Stream) {
	k.Helper()
	k.ok(s.Wait(context.Background()))
}

// expect waits for the kit's stream and compares memory with one value.
func (k *kit) expect(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

// graph returns an empty graph.
func (k *kit) graph() *graph.Graph {
	k.Helper()
	g, err := graph.New(k.c)
	k.ok(err)
	k.closeLater(g)
	return g
}

func (k *kit) add(g *graph.Graph, op driver.Op, deps ...graph.Node) graph.Node {
	k.Helper()
	n, err := g.Add(op, deps...)
	k.ok(err)
	return n
}

func (k *kit) capture(record func(sc *graph.Scope) error) *graph.Graph {
	k.Helper()
	g, err := graph.Capture(k.s, graph.ModeThreadLocal, record)
	k.ok(err)
	k.closeLater(g)
	return g
}

func (k *kit) exec(g *graph.Graph, opts ...graph.Option) *graph.Exec {
	k.Helper()
	x, err := g.Instantiate(opts...)
	k.ok(err)
	k.closeLater(x)
	return x
}

// run launches an exec on the kit's stream and waits.
func (k *kit) run(x *graph.Exec) {
	k.Helper()
	k.ok(x.Run(context.Background(), k.s))
}

// usable shows that a stream takes work, which one that captures does not run.
func (k *kit) usable(s *driver.Stream) {
	k.Helper()
	status, _, err := s.CaptureStatus()
	k.ok(err)
	if status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		k.Fatalf("%v is left with capture status %v", s, status)
	}
	b := k.memory()
	k.ok(s.Do(k.launch(k.plus, b, 41)))
	k.wait(s)
	got := make([]uint32, elems)
	k.ok(b.CopyTo(got))
	if got[0] != 42 {
		k.Fatalf("%v took work and did not run it: %d", s, got[0])
	}
}

// none shows that f allocates nothing. It is run some hundred times.
func (k *kit) none(what string, f func()) {
	k.Helper()
	if allocs := testing.AllocsPerRun(200, f); allocs > allocsAllowed && !raceDetector {
		k.Errorf("%s: %v allocations", what, allocs)
	}
}

// blocked starts work that ends when the returned function is called.
func (k *kit) blocked() (release func()) {
	k.Helper()
	return k.blockedOn(k.s)
}

func (k *kit) blockedOn(s *driver.Stream) (release func()) {
	k.Helper()
	return graphtest.Block(k.TB, s)
}

// graphOf captures operations that run one after the other.
func graphOf(s *driver.Stream, ops ...driver.Op) (*graph.Graph, error) {
	return graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(ops...) })
}

// intoGraph captures into a graph and returns the last nodes.
func intoGraph(g *graph.Graph, s *driver.Stream, mode graph.Mode, deps []graph.Node, record func(*graph.Scope) error) (last []graph.Node, err error) {
	_, err = graph.Capture(s, mode, record, graph.WithTarget(g, deps...), graph.WithLast(&last))
	return last, err
}

func beginInto(g *graph.Graph, s *driver.Stream, mode graph.Mode, deps ...graph.Node) (*graph.Recording, error) {
	return graph.Begin(s, mode, graph.WithTarget(g, deps...))
}

// edgesOf returns plain edges from each node to the one at the same place.
func edgesOf(from, to []graph.Node) []graph.Edge {
	list := make([]graph.Edge, len(from))
	for i := range list {
		list[i] = graph.Edge{From: from[i], To: to[i]}
	}
	return list
}

// dependOn makes n run after each of the others.
func dependOn(n graph.Node, others ...graph.Node) error {
	list := make([]graph.Edge, len(others))
	for i, o := range others {
		list[i] = graph.Edge{From: o, To: n}
	}
	return n.Graph().AddEdges(list...)
}

// addAfter adds a node and edges with data to it. Their To is set.
func addAfter(g *graph.Graph, op driver.Op, deps ...graph.Edge) (graph.Node, error) {
	n, err := g.Add(op)
	if err != nil {
		return n, err
	}
	list := append([]graph.Edge(nil), deps...)
	for i := range list {
		list[i].To = n
	}
	if err := g.AddEdges(list...); err != nil {
		return graph.Node{}, errors.Join(err, n.Destroy())
	}
	return n, nil
}

// froms returns the nodes at the beginning of edges.
func froms(edges []graph.Edge) []graph.Node {
	nodes := make([]graph.Node, len(edges))
	for i, e := range edges {
		nodes[i] = e.From
	}
	return nodes
}

// after returns edges from nodes to what a scope records next.
func after(nodes ...graph.Node) []graph.Edge {
	list := make([]graph.Edge, len(nodes))
	for i, n := range nodes {
		list[i].From = n
	}
	return list
}

// alsoAfter makes the next operation of a scope also run after nodes.
func alsoAfter(sc *graph.Scope, nodes ...graph.Node) error {
	now, err := sc.Dependencies()
	if err != nil {
		return err
	}
	return sc.SetDependencies(append(now, after(nodes...)...)...)
}

// sequence builds a graph of operations that run one after the other, by hand.
func sequence(c *driver.Context, ops ...driver.Op) (*graph.Graph, error) {
	g, err := graph.New(c)
	if err != nil {
		return nil, err
	}
	if _, err := g.AddBatch(nil, graph.Chain(ops)); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}
