package cache_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

const elems = graphtest.Elems

var errRecord = errors.New("the record function failed")

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
