package view_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// kit is graphtest's kit with helpers for drawings.
type kit struct{ *graphtest.Kit }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

func (k *kit) scene() *graphtest.Scene {
	k.Helper()
	return graphtest.NewScene(k.Kit)
}

func (k *kit) snapshot(of interface {
	Snapshot() (*graph.Snapshot, error)
}) *graph.Snapshot {
	k.Helper()
	s, err := of.Snapshot()
	k.OK(err)
	return s
}

func (k *kit) cond(g *graph.Graph, opts ...graph.CondOption) graph.Cond {
	k.Helper()
	c, err := g.NewCond(opts...)
	k.OK(err)
	return c
}

// does returns a function that records operations.
func does(ops ...driver.Op) func(sc *graph.Scope) error {
	return func(sc *graph.Scope) error { return sc.Do(ops...) }
}
