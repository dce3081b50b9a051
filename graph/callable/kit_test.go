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
type kit struct {
	*graphtest.Kit
	eager bool // Callables of the test never record
}

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{graphtest.NewKit(t, c), false} }

func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k, false}) })
}

// eachMode runs a test with Callables that record, and then with Callables whose calls are all
// eager.
func eachMode(t *testing.T, test func(k *kit)) {
	t.Helper()
	t.Run("recorded", func(t *testing.T) { each(t, test) })
	t.Run("eager", func(t *testing.T) {
		graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{k, true}) })
	})
}

// created creates a Callable. In an eager test it calls the function
// with each example, because New would record.
func created[In, Out any](k *kit, f callable.Func[In, Out], examples []In, opts ...callable.Option) (*callable.Callable[In, Out], error) {
	if !k.eager {
		return callable.New(k.S, f, examples, opts...)
	}
	c, err := callable.New(k.S, f, nil, append(opts, callable.WithAdaptive(1<<30))...)
	if err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made { // runs even if the function panicked or called runtime.Goexit
			k.OK(c.Close())
		}
	}()
	for _, in := range examples {
		if _, err := c.Call(background, in); err != nil {
			return nil, err
		}
	}
	made = true
	return c, nil
}

// made creates a Callable that is closed when the test ends.
func made[In, Out any](k *kit, f callable.Func[In, Out], examples []In, opts ...callable.Option) *callable.Callable[In, Out] {
	k.Helper()
	c, err := created(k, f, examples, opts...)
	k.OK(err)
	k.CloseLater(c)
	return c
}
