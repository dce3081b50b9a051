package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Profile is the result of measuring a graph with [Graph.Profile]. All times, including those of
// nodes, are medians over the rounds.
type Profile struct {
	// Rounds is the number of measured runs.
	Rounds int
	// Run is the time of the unchanged graph, from the event before its launch to the one after it.
	Run time.Duration
	// Measured is the same time with the events around each node in the graph. The difference shows
	// how much measuring disturbs.
	Measured time.Duration
	// Overhead is the time measured for an empty node. It is subtracted from the times of nodes,
	// but not from Run and Measured.
	Overhead time.Duration
}

// ProfileOption changes how Profile measures.
type ProfileOption func(*profiling)

// WithRounds sets the number of measured runs. The default is 5.
func WithRounds(n int) ProfileOption {
	return func(p *profiling) { p.rounds = n }
}

// WithOneByOne runs the nodes one after the other while they are measured, so that concurrent
// nodes do not slow each other down. Do not use it for graphs in which a node waits for what
// another writes without depending on it: it would wait forever.
func WithOneByOne() ProfileOption {
	return func(p *profiling) { p.oneByOne = true }
}

// Profile runs the graph and measures each node on the device, by events right before and after it.
// It also measures the nodes of child graphs, and the bodies of a conditional node as a whole. It
// returns the graph's snapshot with the times, when all runs have ended. The event nodes need CUDA
// 11.1.
//
// A node's time lasts from when it could begin until its results are visible. It is a few
// microseconds for a kernel that does nothing, most of which disappears when kernels follow one
// another without events between them.
//
// The graph runs 2 × (rounds + 1) times on s, with all its effects on memory: once and then rounds
// times unchanged, and as often with the events. The graph is changed while the measured Exec is
// instantiated, and then restored.
//
// The times of concurrent nodes include waiting for room on the device: see [WithOneByOne]. The
// events keep kernels with programmatic edges from overlapping.
//
// A graph that allocates or frees cannot be measured (CUDA_ERROR_NOT_SUPPORTED), because the driver
// cannot remove its nodes or copy it. A graph with conditional nodes can have one Exec at a time,
// so it must have none when it is measured.
func (g *Graph) Profile(ctx context.Context, s *driver.Stream, opts ...ProfileOption) (*Snapshot, error) {
	m := &profiling{rounds: 5, s: s}
	absent.Apply(opts, m)
	p, err := m.profile(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("cannot profile %v: %w", g, err)
	}
	return p, nil
}
