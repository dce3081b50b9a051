package graph

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Profile is how long each node of a graph took on the device, as
// [Graph.Profile] measured it. All times are medians over the rounds.
type Profile struct {
	// Rounds is how many runs were measured.
	Rounds int
	// Run is the time of the graph as it is, from the event before its launch to
	// the one behind it.
	Run time.Duration
	// Measured is the same with the events around each node in the graph: how
	// much the measurement disturbs.
	Measured time.Duration
	// Overhead is what an empty node measures. The times of nodes are without it,
	// Run and Measured are as they were.
	Overhead time.Duration

	picture *picture
	times   map[Node]NodeTime
}

// NodeTime is how long a node took.
type NodeTime struct {
	Node  Node
	Start time.Duration // when it began, counted from the launch
	Time  time.Duration // how long it took, without Profile.Overhead
}

// ProfileOption changes how Profile measures.
type ProfileOption func(*profiling)

// ProfileRounds sets how many runs are measured, 5 otherwise.
func ProfileRounds(n int) ProfileOption {
	return func(p *profiling) { p.rounds = n }
}

// ProfileOneByOne has the nodes run one after the other while they are measured,
// so that none takes longer because of others beside it. It is not for graphs in
// which a node waits for what another writes without depending on it: they would
// wait forever.
func ProfileOneByOne() ProfileOption {
	return func(p *profiling) { p.oneByOne = true }
}

// Profile runs the graph and measures each node on the device, by events right
// before and right behind it; nodes of child graphs are measured too, the
// bodies of conditional nodes as a whole. It returns when all runs are over. The
// nodes for events need CUDA 11.1.
//
// A node's time is that of the node by itself, from when it could begin until what
// it did is visible: some microseconds for a kernel that does nothing, of which
// little is left when kernels follow one another without events between them.
//
// The graph runs 2 × (rounds + 1) times on s, with all that it does to memory:
// once and then rounds times as it is, and as often with the events in it. The
// graph is changed for the moment in which the measured Exec is made, and is
// afterwards as before.
//
// Nodes that run side by side take as long as they do side by side, waiting for
// room on the device included; see [ProfileOneByOne]. The events keep kernels
// that are joined by programmatic edges from overlapping.
//
// A graph that allocates or frees cannot be measured: the driver takes no node
// out of such a graph, and makes no copy of it (CUDA_ERROR_NOT_SUPPORTED). Of a
// graph with conditional nodes the driver makes one Exec at a time, so there may
// be none when it is measured.
func (g *Graph) Profile(ctx context.Context, s *driver.Stream, opts ...ProfileOption) (*Profile, error) {
	m := &profiling{rounds: 5, s: s}
	absent.Apply(opts, m)
	p, err := m.profile(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("cannot profile %v: %w", g, err)
	}
	return p, nil
}

// Time returns how long a node took. It is not known of nodes in bodies of
// conditional nodes, and of nodes that the graph did not have then.
func (p *Profile) Time(n Node) (NodeTime, bool) {
	if p == nil {
		return NodeTime{}, false
	}
	t, ok := p.times[n]
	return t, ok
}

// Nodes yields the nodes that were measured, in the order of their numbers,
// after a child graph's node those in it.
func (p *Profile) Nodes() iter.Seq[NodeTime] {
	return func(yield func(NodeTime) bool) {
		if !p.exists() {
			return
		}
		on := true
		p.picture.each(func(in *picture, i int) {
			if t, ok := p.times[in.nodes[i].Node]; ok && on {
				on = yield(t)
			}
		})
	}
}

// CriticalPath returns the nodes, from a root to a leaf, whose times have the
// largest sum, and the sum: to make the graph faster, make these faster. A child
// graph is one node in it. The sum may be more than Run: without events between
// them, a kernel is made ready while the one before still runs.
func (p *Profile) CriticalPath() (path []Node, total time.Duration) {
	if !p.exists() {
		return nil, 0
	}
	places, total := p.picture.critical(p.length)
	path = make([]Node, len(places))
	for i, at := range places {
		path[i] = p.picture.nodes[at].Node
	}
	return path, total
}

// exists reports whether p was measured.
func (p *Profile) exists() bool { return p != nil && p.picture != nil }

func (p *Profile) length(n Node) time.Duration { return p.times[n].Time }

// String is one line: the run, the critical path, what measuring costs.
func (p *Profile) String() string {
	if !p.exists() {
		return "no profile"
	}
	path, total := p.CriticalPath()
	return fmt.Sprintf("runs in %s; critical path of %s: %s; with events around each node %s, of which an empty node has %s (medians of %d)",
		micros(p.Run), plural(len(path), "node"), micros(total), micros(p.Measured), micros(p.Overhead), p.Rounds)
}
