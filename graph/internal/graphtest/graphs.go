package graphtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// Blocked enqueues work in the kit's stream that ends when the returned function is called.
func (k *Kit) Blocked() (release func()) {
	k.Helper()
	return k.BlockedOn(k.S)
}

func (k *Kit) BlockedOn(s *driver.Stream) (release func()) {
	k.Helper()
	return Block(k.TB, s)
}

// Recorded captures the operations one after the other and returns the graph.
func Recorded(s *driver.Stream, ops ...driver.Op) (*graph.Graph, error) {
	return graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(ops...) })
}

// CaptureInto captures into a graph and returns the last nodes.
func CaptureInto(g *graph.Graph, s *driver.Stream, mode graph.Mode, deps []graph.Node, record func(*graph.Scope) error) (last []graph.Node, err error) {
	_, err = graph.Capture(s, mode, record, graph.WithTarget(g, deps...), graph.WithLast(&last))
	return last, err
}

func BeginInto(g *graph.Graph, s *driver.Stream, mode graph.Mode, deps ...graph.Node) (*graph.Recording, error) {
	return graph.Begin(s, mode, graph.WithTarget(g, deps...))
}

// EdgesOf returns an edge without data from each node in from to the node with the same index in
// to.
func EdgesOf(from, to []graph.Node) []graph.Edge {
	list := make([]graph.Edge, len(from))
	for i := range list {
		list[i] = graph.Edge{From: from[i], To: to[i]}
	}
	return list
}

// DependOn makes n also run after the other nodes.
func DependOn(n graph.Node, others ...graph.Node) error {
	list := make([]graph.Edge, len(others))
	for i, o := range others {
		list[i] = graph.Edge{From: o, To: n}
	}
	return n.Graph().AddEdges(list...)
}

// AddAfter adds a node for op with the edges deps, including their data, and ignores their To.
func AddAfter(g *graph.Graph, op driver.Op, deps ...graph.Edge) (graph.Node, error) {
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

// Froms returns the From nodes of edges.
func Froms(edges []graph.Edge) []graph.Node {
	nodes := make([]graph.Node, len(edges))
	for i, e := range edges {
		nodes[i] = e.From
	}
	return nodes
}

// After returns edges from nodes, for Scope.SetDependencies.
func After(nodes ...graph.Node) []graph.Edge {
	list := make([]graph.Edge, len(nodes))
	for i, n := range nodes {
		list[i].From = n
	}
	return list
}

// AlsoAfter makes the next operation of a scope also run after nodes.
func AlsoAfter(sc *graph.Scope, nodes ...graph.Node) error {
	now, err := sc.Dependencies()
	if err != nil {
		return err
	}
	return sc.SetDependencies(append(now, After(nodes...)...)...)
}

// Sequence builds a graph node by node, without a capture. Its operations run one after the other.
func Sequence(c *driver.Context, ops ...driver.Op) (*graph.Graph, error) {
	g, err := graph.New(c)
	if err != nil {
		return nil, err
	}
	if _, err := g.AddBatch(nil, graph.Chain(ops)); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

var Modes = []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed}

var ErrRecord = errors.New("the recording function's own error")

// BodyModes are the capture modes for tests of bodies.
var BodyModes = map[string]graph.Mode{
	"global": graph.ModeGlobal, "thread local": graph.ModeThreadLocal, "relaxed": graph.ModeRelaxed,
}

func (k *Kit) CaptureIn(mode graph.Mode, record func(sc *graph.Scope) error) *graph.Graph {
	k.Helper()
	g, err := graph.Capture(k.S, mode, record)
	k.OK(err)
	k.CloseLater(g)
	return g
}

// Does returns a body that records operations.
func Does(ops ...driver.Op) func(sc *graph.Scope) error {
	return func(sc *graph.Scope) error {
		for _, op := range ops {
			if err := sc.Do(op); err != nil {
				return err
			}
		}
		return nil
	}
}

func (k *Kit) Types(g *graph.Graph, want []graph.Type) {
	k.Helper()
	var got []graph.Type
	for n, err := range g.Nodes() {
		k.OK(err)
		typ, err := n.Type()
		k.OK(err)
		got = append(got, typ)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		k.Errorf("types %v, want %v", got, want)
	}
}

func Second[T any](_ T, err error) error { return err }

// Nodes returns the nodes of a graph.
func (k *Kit) Nodes(g *graph.Graph) (all []graph.Node) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.OK(err)
		all = append(all, n)
	}
	return all
}

func (k *Kit) ChainPlan(ops ...driver.Op) *graph.Plan {
	k.Helper()
	p, err := graph.NewPlan(k.C, graph.Chain(ops))
	k.OK(err)
	k.CloseLater(p)
	return p
}

func (k *Kit) AddPlan(g *graph.Graph, p *graph.Plan, deps ...graph.Node) graph.Nodes {
	k.Helper()
	n, err := g.AddPlan(p, deps...)
	k.OK(err)
	if n.Len() != p.Len() {
		k.Fatalf("%d nodes of a plan of %d", n.Len(), p.Len())
	}
	return n
}

func (k *Kit) Check(g *graph.Graph) graph.Checked {
	k.Helper()
	c, err := g.Check()
	k.OK(err)
	return c
}

// Clean checks that a graph has no conflicts and no unknown accesses.
func (k *Kit) Clean(g *graph.Graph) {
	k.Helper()
	if c := k.Check(g); !c.OK() || c.Err() != nil || len(c.Unknown) > 0 {
		k.Errorf("want no conflict and nothing unknown, got %v", c)
	}
}

func (k *Kit) Snapshot(g *graph.Graph) *graph.Snapshot {
	k.Helper()
	s, err := g.Snapshot()
	k.OK(err)
	return s
}

// Pairs returns the pairs of conflicting nodes as indices in nodes.
func Pairs(c graph.Checked, nodes []graph.Node) []string {
	var list []string
	for _, x := range c.Conflicts {
		a, b := slices.Index(nodes, x.A), slices.Index(nodes, x.B)
		list = append(list, fmt.Sprint(min(a, b), "-", max(a, b)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func Refused(t testing.TB, what string, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: got %v, want an error that says %q", what, err, says)
	}
}
