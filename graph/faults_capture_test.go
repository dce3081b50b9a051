package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
)

func init() {
	flows = append(flows,
		flow{"capture into a graph", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.c)
			if err != nil {
				return err
			}
			return errors.Join(captureInto(k, b, g), g.Close())
		}},
		flow{"nodes by hand during a capture", func(k *kit, b *driver.Buffer[uint32]) error {
			l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
			if err != nil {
				return err
			}
			g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return byHandAndParallel(sc, l) })
			if err != nil {
				return err
			}
			return errors.Join(replay(k, g), g.Close())
		}},
		flow{"capture made ready, with a relaxed section", func(k *kit, b *driver.Buffer[uint32]) error {
			c, err := callable.CaptureReady(background, k.s, graph.ModeGlobal, func(sc *graph.Scope) (n int, err error) {
				return 1, sc.Relaxed(func() error {
					l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
					if err != nil {
						return err
					}
					return sc.Do(l)
				})
			})
			if err != nil {
				return err
			}
			return errors.Join(c.Exec.Run(background, k.s), c.Close())
		}},
		flow{"record by hand and by capture", func(k *kit, b *driver.Buffer[uint32]) error {
			l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
			if err != nil {
				return err
			}
			var byHand *graph.Graph
			r, err := graph.Begin(k.s, graph.ModeThreadLocal)
			if err != nil {
				return err
			}
			byHand, err = sequence(k.c, l, l)
			if err != nil {
				return errors.Join(err, r.Abort())
			}
			g, err := r.End()
			if err != nil {
				return errors.Join(err, byHand.Close())
			}
			return errors.Join(replay(k, g), replay(k, byHand), g.Close(), byHand.Close())
		}},
	)
}

func captureInto(k *kit, b *driver.Buffer[uint32], g *graph.Graph) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	first, err := g.Add(l)
	if err != nil {
		return err
	}
	last, err := intoGraph(g, k.s, graph.ModeThreadLocal, []graph.Node{first}, func(sc *graph.Scope) error {
		return errors.Join(sc.Do(l), sc.Do(l))
	})
	if err != nil {
		return err
	}
	if _, err := g.Add(l, last...); err != nil {
		return err
	}
	return replay(k, g)
}

func byHandAndParallel(sc *graph.Scope, l *driver.Launch) error {
	g, err := sc.Graph()
	if err != nil {
		return err
	}
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	if err := alsoAfter(sc, n); err != nil {
		return err
	}
	do := func(sc *graph.Scope) error { return sc.Do(l) }
	return sc.Parallel(do, do)
}
