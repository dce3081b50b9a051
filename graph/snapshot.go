package graph

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Snapshot is the state of a graph and its nested graphs at one moment, as plain data. It contains
// no handles or addresses, except in [SnapshotNode.Node], so two runs of a program produce equal
// snapshots apart from that field. Package graph/view draws snapshots.
type Snapshot struct {
	// Label names a graph in a conditional node: "body", "then", "else" or "body 2". It is "" for
	// other graphs.
	Label   string
	Nodes   []SnapshotNode // in ascending order of number
	Edges   []SnapshotEdge // in ascending order of From, then To
	Profile *Profile       // nil unless Graph.Profile returned the snapshot
}

// SnapshotNode is a node in a [Snapshot].
type SnapshotNode struct {
	Node Node
	// ID is the node's number, as in error messages. For a nested node it begins with the number of
	// the outer node: 3.0.1 is node 1 of the first graph in node 3.
	ID   string
	Type Type
	// Kind is the type in words, such as "kernel", "copy", "fill", "host function", "child graph",
	// "IF", "IF-ELSE", "WHILE" or "SWITCH".
	Kind   string
	Name   string // the name set by Node.SetName, otherwise the kernel's name (CUDA 12.3), otherwise ""
	Params string // main parameters: "grid 1 block 32", "128 bytes host to device"
	Off    bool   // disabled in the Exec of the snapshot
	// Graphs contains the child graph or, if this package added the node, the bodies of a
	// conditional node.
	Graphs []*Snapshot

	Timed bool          // whether Graph.Profile measured the node
	Start time.Duration // start time, counted from the launch
	Time  time.Duration // duration, with Profile.Overhead already subtracted
}

// SnapshotEdge is a dependency in a [Snapshot]: Nodes[To] runs after Nodes[From].
type SnapshotEdge struct {
	From, To int
	Data     cu.CUgraphEdgeData
}

// Snapshot returns a Snapshot of the graph's current state.
func (g *Graph) Snapshot() (*Snapshot, error) {
	if err := g.lock(); err != nil {
		return nil, fmt.Errorf("cannot take a snapshot of %v: %w", g, err)
	}
	defer g.mu.Unlock()
	s, err := g.snapshot("")
	g.alive()
	if err != nil {
		return nil, fmt.Errorf("cannot take a snapshot of %v: %w", g, err)
	}
	return s, nil
}

// Snapshot returns a Snapshot of the Exec's graph, including which of its nodes are disabled in the
// Exec (CUDA 11.6). For nodes of child graphs and bodies, Off is always false.
func (x *Exec) Snapshot() (*Snapshot, error) {
	if err := x.lock(); err != nil {
		return nil, err
	}
	g := x.g
	x.keep.mu.Unlock()
	s, err := g.Snapshot()
	if err != nil {
		return nil, err
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !canBeOff(n.Type) {
			continue
		}
		on, err := x.Enabled(n.Node)
		if err != nil {
			return nil, fmt.Errorf("cannot take a snapshot of %v: %w", x, err)
		}
		n.Off = !on
	}
	return s, nil
}

func canBeOff(t Type) bool {
	return t == cu.CU_GRAPH_NODE_TYPE_KERNEL || t == cu.CU_GRAPH_NODE_TYPE_MEMCPY || t == cu.CU_GRAPH_NODE_TYPE_MEMSET
}

// All yields every node, each followed by the nodes of its nested graphs.
func (s *Snapshot) All() iter.Seq[*SnapshotNode] {
	return func(yield func(*SnapshotNode) bool) { s.each(yield) }
}

func (s *Snapshot) each(yield func(*SnapshotNode) bool) bool {
	if s == nil {
		return true
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !yield(n) {
			return false
		}
		for _, in := range n.Graphs {
			if !in.each(yield) {
				return false
			}
		}
	}
	return true
}

// snapshot returns a snapshot whose IDs begin with prefix. The caller must hold the graph's lock.
func (g *Graph) snapshot(prefix string) (*Snapshot, error) {
	nodes, err := g.listed()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.i, b.i) })
	s := &Snapshot{Nodes: make([]SnapshotNode, len(nodes))}
	for i, n := range nodes {
		if err := n.snapshotInto(&s.Nodes[i], prefix); err != nil {
			return nil, fmt.Errorf("node %d of %v: %w", n.i, g, err)
		}
	}
	return s, s.takeEdges(g)
}

func (n Node) snapshotInto(s *SnapshotNode, prefix string) (err error) {
	s.Node, s.ID = n, prefix+fmt.Sprint(n.i)
	if err := n.g.d.CuGraphNodeGetType(n.handle(), &s.Type); err != nil {
		return err
	}
	s.Kind = n.does(s.Type)
	if s.Name, err = n.shownName(s.Type); err != nil {
		return err
	}
	if s.Params, err = n.detail(s.Type); err != nil {
		return err
	}
	graphs, err := n.graphsInside(s.Type)
	for i, g := range graphs {
		in, err := g.snapshot(fmt.Sprintf("%s.%d.", s.ID, i))
		if err != nil {
			return err
		}
		in.Label = insideLabel(s.Type, s.Kind, i, len(graphs))
		s.Graphs = append(s.Graphs, in)
	}
	return err
}

// graphsInside returns the graphs in a node. For a conditional node that this package did not add,
// it returns none, because the driver reports bodies only to the caller that adds the node.
func (n Node) graphsInside(t Type) ([]*Graph, error) {
	switch t {
	case cu.CU_GRAPH_NODE_TYPE_GRAPH:
		var raw driver.CUgraph
		if err := n.g.d.CuGraphChildGraphNodeGetGraph(n.handle(), &raw); err != nil {
			return nil, err
		}
		return []*Graph{n.inside(raw)}, nil
	case cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if k := n.g.outermost().conds.of(n); k != nil {
			return k.bodies, nil
		}
	}
	return nil, nil
}

func insideLabel(t Type, kind string, i, n int) string {
	switch {
	case t != cu.CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return ""
	case n == 1:
		return "body"
	case kind == formIfElse.String():
		return []string{"then", "else"}[i]
	}
	return fmt.Sprintf("body %d", i)
}

func (s *Snapshot) takeEdges(g *Graph) error {
	edges, err := g.listedEdges()
	if err != nil {
		return err
	}
	place := make(map[uint32]int, len(s.Nodes))
	for i := range s.Nodes {
		place[s.Nodes[i].Node.i] = i
	}
	s.Edges = make([]SnapshotEdge, len(edges))
	for i, e := range edges {
		s.Edges[i] = SnapshotEdge{place[e.From.i], place[e.To.i], e.Data}
	}
	slices.SortFunc(s.Edges, func(a, b SnapshotEdge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Data.From_port, b.Data.From_port))
	})
	return nil
}

// DriverDOT returns the driver's drawing of the graph in the DOT language, with the details that
// flags select.
func (g *Graph) DriverDOT(flags cu.CUgraphDebugDot_flags) ([]byte, error) {
	// The driver can only write to files.
	dir, err := os.MkdirTemp("", "purecuda")
	if err != nil {
		return nil, err
	}
	text, err := g.dotFile(filepath.Join(dir, "graph.dot"), flags)
	return text, errors.Join(err, os.RemoveAll(dir))
}

func (g *Graph) dotFile(path string, flags cu.CUgraphDebugDot_flags) ([]byte, error) {
	if err := g.printDOT(path, flags); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (g *Graph) printDOT(path string, flags cu.CUgraphDebugDot_flags) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	name := append([]byte(path), 0)
	err := g.d.CuGraphDebugDotPrint(g.raw, &name[0], uint32(flags))
	g.alive()
	if err != nil {
		return fmt.Errorf("drawing of %v: %w", g, err)
	}
	return nil
}
