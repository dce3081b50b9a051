package graph_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func init() {
	flows = append(flows,
		flow{"loop by hand", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.c)
			if err != nil {
				return err
			}
			return errors.Join(loopByHand(k, g, b), g.Close())
		}},
		flow{"switch in an if, updated", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.c)
			if err != nil {
				return err
			}
			return errors.Join(decide(k, g, b), g.Close())
		}},
		flow{"nested loop captured", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error { return captureLoop(k, sc, b) })
			if err != nil {
				return err
			}
			return errors.Join(replay(k, g), g.Close())
		}},
		flow{"capture into a body", func(k *kit, b *driver.Buffer[uint32]) error {
			g, err := graph.New(k.c)
			if err != nil {
				return err
			}
			return errors.Join(captureBody(k, g, b), g.Close())
		}},
	)
}

// loopByHand makes a loop of three rounds that count in b[0].
func loopByHand(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	c, err := g.NewCond()
	if err != nil {
		return err
	}
	loop, err := c.Within(b, 3)
	if err != nil {
		return err
	}
	start, err := loop.Start()
	if err != nil {
		return err
	}
	next, err := loop.Next()
	if err != nil {
		return err
	}
	n, err := g.Add(start)
	if err != nil {
		return err
	}
	_, body, err := g.AddWhile(c, n)
	if err != nil {
		return err
	}
	if _, err := body.Add(next); err != nil {
		return err
	}
	return replay(k, g)
}

func decide(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	c, err := g.NewCond(graph.WithDefault(1))
	if err != nil {
		return err
	}
	d, err := g.NewCond(graph.WithDefault(2))
	if err != nil {
		return err
	}
	_, then, _, err := g.AddIfElse(c)
	if err != nil {
		return err
	}
	_, bodies, err := then.AddSwitch(d, 3)
	if err != nil {
		return err
	}
	n, err := bodies[2].Add(l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	err = x.Set(n, l)
	if err == nil {
		_, err = x.Update(g)
	}
	if err == nil {
		err = x.Run(background, k.s)
	}
	return errors.Join(err, x.Close())
}

func captureLoop(k *kit, sc *graph.Scope, b *driver.Buffer[uint32]) error {
	c, err := sc.NewCond()
	if err != nil {
		return err
	}
	loop, err := c.Within(b, 2)
	if err != nil {
		return err
	}
	start, err := loop.Start()
	if err != nil {
		return err
	}
	next, err := loop.Next()
	if err != nil {
		return err
	}
	if err := sc.Do(start); err != nil {
		return err
	}
	return sc.While(c, func(body *graph.Scope) error {
		d, err := body.NewCond(graph.WithDefault(1))
		if err != nil {
			return err
		}
		if err := body.If(d, nil); err != nil {
			return err
		}
		return body.Do(next)
	})
}

func captureBody(k *kit, g *graph.Graph, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 7)
	if err != nil {
		return err
	}
	c, err := g.NewCond(graph.WithDefault(1))
	if err != nil {
		return err
	}
	_, body, err := g.AddIf(c)
	if err != nil {
		return err
	}
	n, err := intoGraph(body, k.s, graph.ModeThreadLocal, nil, does(fill, l))
	if err != nil {
		return err
	}
	if _, err := body.Add(l, n...); err != nil {
		return err
	}
	return replay(k, g)
}
