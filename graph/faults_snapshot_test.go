package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func init() {
	flows = append(flows,
		flow{"snapshot with a child graph", func(k *kit, b *driver.Buffer[uint32]) error {
			return withNest(k, b, func(g *graph.Graph) error { return errorOf(g.Snapshot()) })
		}},
		flow{"profile", func(k *kit, b *driver.Buffer[uint32]) error {
			return withNest(k, b, func(g *graph.Graph) error {
				return errorOf(g.Profile(background, k.s, graph.WithRounds(1)))
			})
		}},
	)
}

// withNest makes a graph with a child graph in it.
func withNest(k *kit, b *driver.Buffer[uint32], use func(g *graph.Graph) error) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	child, err := graph.New(k.c)
	if err != nil {
		return err
	}
	g, err := graph.New(k.c)
	if err != nil {
		return errors.Join(err, child.Close())
	}
	return errors.Join(nestAndUse(g, child, l, use), g.Close(), child.Close())
}

func nestAndUse(g, child *graph.Graph, l *driver.Launch, use func(g *graph.Graph) error) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	if _, err := child.Add(l); err != nil {
		return err
	}
	if _, err := g.AddChild(child, n); err != nil {
		return err
	}
	return use(g)
}
