package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Profile is how [Graph.Profile] measured a graph. All times, those of nodes too,
// are medians over the rounds.
type Profile struct {
	// Rounds is how many runs were measured.
	Rounds int
	// Run is the time of the graph as it is, from the event before its launch to
	// the one after it.
	Run time.Duration
	// Measured is the same with the events around each node in the graph: how
	// much the measurement disturbs.
	Measured time.Duration
	// Overhead is what an empty node measures. The times of nodes are without it,
	// Run and Measured are as they were.
	Overhead time.Duration
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
// before and right after it. It measures the nodes of child graphs too, and the
// bodies of a conditional node as a whole. It returns when all runs are over: the
// graph's snapshot with the times in it. The nodes for events need CUDA 11.1.
//
// A node's time is that of the node by itself, from when it could begin until what
// it did is visible: a few microseconds for a kernel that does nothing, of which
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
func (g *Graph) Profile(ctx context.Context, s *driver.Stream, opts ...ProfileOption) (*Snapshot, error) {
	m := &profiling{rounds: 5, s: s}
	absent.Apply(opts, m)
	p, err := m.profile(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("cannot profile %v: %w", g, err)
	}
	return p, nil
}
