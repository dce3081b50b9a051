package callable_test

import (
	"context"
	"slices"
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
	eager   bool // Callables of the test never record
	options []callable.Option
}

func newKit(t testing.TB, c *driver.Context) *kit { return &kit{Kit: graphtest.NewKit(t, c)} }

// each runs a test with Callables that have memory of their own, and with Callables in an arena.
func each(t *testing.T, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{Kit: k}) })
	t.Run("arena", func(t *testing.T) { inArena(t, false, test) })
}

// eachMode runs a test like each, and again with Callables whose calls are all eager.
func eachMode(t *testing.T, test func(k *kit)) {
	t.Helper()
	t.Run("recorded", func(t *testing.T) { each(t, test) })
	t.Run("eager", func(t *testing.T) {
		graphtest.Each(t, func(k *graphtest.Kit) { test(&kit{Kit: k, eager: true}) })
		t.Run("arena", func(t *testing.T) { inArena(t, true, test) })
	})
}

func inArena(t *testing.T, eager bool, test func(k *kit)) {
	t.Helper()
	graphtest.Each(t, func(k *graphtest.Kit) {
		test((&kit{Kit: k, eager: eager}).inArena())
	})
}

// inArena makes the Callables of the kit use an arena.
func (k *kit) inArena() *kit {
	k.Helper()
	k.options = []callable.Option{callable.WithArena(k.arena())}
	return k
}

// created creates a Callable. In an eager test it calls the function
// with each example, because New would record.
func created[In, Out any](k *kit, f callable.Func[In, Out], examples []In, opts ...callable.Option) (*callable.Callable[In, Out], error) {
	opts = append(slices.Clone(k.options), opts...)
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
