package graph_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// Many goroutines do different things to one graph and one exec: calls take turns,
// and what is refused is refused for a reason that one of them made.
func TestGoroutinesOnOneGraphAndOneExec(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 0))
		x := k.exec(g)
		streams := []*driver.Stream{k.s, k.stream()}
		const rounds = 60
		var all sync.WaitGroup
		run := func(do func(i int, l *driver.Launch) error) {
			l := k.launch(k.plus, b, 0)
			all.Go(func() {
				for i := range rounds {
					if err := do(i, l); err != nil {
						k.Errorf("round %d: %v", i, err)
						return
					}
				}
			})
		}
		run(func(i int, l *driver.Launch) error { return x.Launch(streams[i%2]) })
		run(func(i int, l *driver.Launch) error { return x.Set(n, l) })
		run(func(i int, l *driver.Launch) error { return n.Set(l) })
		run(func(i int, l *driver.Launch) error { return x.Enable(n, i%2 == 0) })
		run(func(i int, l *driver.Launch) error { return second(x.Update(g)) })
		run(func(i int, l *driver.Launch) error { return second(x.Update(g, graph.WithReinstantiate())) })
		run(func(i int, l *driver.Launch) error {
			m, err := g.Add(l, n)
			return errors.Join(err, m.Destroy())
		})
		run(func(i int, l *driver.Launch) error {
			c, err := g.Clone()
			return errors.Join(err, c.Close())
		})
		run(func(i int, l *driver.Launch) error { return second(g.Check()) })
		all.Wait()
		for _, s := range streams {
			k.wait(s)
		}
		if n := x.Replays(); n != rounds {
			k.Errorf("%d replays", n)
		}
		k.expect(b, 1)
	})
}

// A relaxed scope takes operations of several goroutines, while another ends the
// capture: each operation is in the graph, or was refused because it came late.
func TestGoroutinesOnOneScope(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		r, err := graph.Begin(k.s, graph.ModeRelaxed)
		k.ok(err)
		var all sync.WaitGroup
		taken := make([]uint32, 4)
		for i := range taken {
			l := k.launch(k.plus, b, 1)
			all.Go(func() {
				for range 200 {
					switch err := r.Scope().Do(l); {
					case err == nil:
						taken[i]++
					case !errors.Is(err, graph.ErrEnded):
						k.Errorf("a late operation: %v", err)
						return
					}
				}
			})
		}
		g, err := r.End()
		k.ok(err)
		k.closeLater(g)
		all.Wait()
		total := uint32(1)
		for _, n := range taken {
			total += n
		}
		k.run(k.exec(g))
		k.expect(b, total)
	})
}
