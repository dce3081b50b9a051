package callable_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

const elems = graphtest.Elems

var (
	config     = graphtest.Config
	background = context.Background()
	modes      = []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed}
)

// kit extends the Kit of graphtest with functions for Callables.
type kit struct{ *graphtest.Kit }

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{graphtest.NewKit(t, c)} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k}) })
}

// made creates a Callable that is closed when the test ends.
func made[In, Out any](k *kit, f callable.Func[In, Out], examples []In, opts ...callable.Option) *callable.Callable[In, Out] {
	k.Helper()
	c, err := callable.New(k.S, f, examples, opts...)
	k.OK(err)
	k.CloseLater(c)
	return c
}
