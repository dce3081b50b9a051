package view_test

import (
	"testing"

	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

type kit struct{ *graphtest.Kit }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

func (k *kit) snapshot(of interface {
	Snapshot() (*graph.Snapshot, error)
}) *graph.Snapshot {
	k.Helper()
	s, err := of.Snapshot()
	k.OK(err)
	return s
}
