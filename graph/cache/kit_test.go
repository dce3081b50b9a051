package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

const elems = graphtest.Elems

var errRecord = errors.New("the record function failed")

// kit is graphtest's kit with helpers for a cache.
type kit struct{ *graphtest.Kit }

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{graphtest.NewKit(t, c)} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

func (k *kit) cache(opts ...cache.Option) *cache.Cache {
	k.Helper()
	c, err := cache.New(k.C, opts...)
	k.OK(err)
	k.CloseLater(c)
	return c
}

func (k *kit) fill(g *graph.Graph, b driver.MemoryOf[uint32], v uint32, deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.Fill(b, v)
	k.OK(err)
	n, err := g.Add(op, deps...)
	k.OK(err)
	return n
}

func (k *kit) used() uint64 {
	k.Helper()
	k.OK(k.C.Synchronize(context.Background()))
	k.OK(k.C.Device().TrimGraphMem())
	s, err := k.C.Device().GraphMemStats()
	k.OK(err)
	return s.Used
}

func (k *kit) expectReason(what string, err error, code driver.CUresult, words ...string) {
	k.Helper()
	if !errors.Is(err, code) {
		k.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

func second[T any](_ T, err error) error { return err }
