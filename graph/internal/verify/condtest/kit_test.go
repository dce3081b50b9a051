package condtest_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

const elems = graphtest.Elems

var config = graphtest.Config

var background = context.Background()

type kit struct{ *graphtest.Kit }

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{graphtest.NewKit(t, c)} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}
