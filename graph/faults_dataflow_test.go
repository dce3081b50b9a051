package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
)

func init() {
	flows = append(flows,
		flow{"a flow, named and with declarations", runFlow},
		flow{"check of a captured and changed graph", checkCaptured},
		flow{"check of nested graphs", checkNested},
	)
}

func runFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, driver.InOut(b), uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	f := dataflow.New(k.c)
	for i := range 4 {
		s, err := f.Add(l, driver.In(b.View(i, i+1)))
		if err != nil {
			return err
		}
		s.SetName(fmt.Sprint("step ", i))
	}
	g, err := f.Build()
	if err != nil {
		return err
	}
	c, err := g.Check()
	return errors.Join(err, c.Err(), replay(k, g), g.Close())
}

func checkCaptured(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 1)
	if err != nil {
		return err
	}
	g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return errors.Join(sc.Do(l), sc.Do(fill))
	})
	if err != nil {
		return err
	}
	return errors.Join(expectConflicts(g, 0), addStranger(g, l), g.Close())
}

func addStranger(g *graph.Graph, l *driver.Launch) error {
	n, err := g.Add(l)
	if err != nil {
		return err
	}
	return errors.Join(n.Set(l), expectConflicts(g, 2))
}

func expectConflicts(g *graph.Graph, n int) error {
	c, err := g.Check()
	if err == nil && len(c.Conflicts) != n {
		err = fmt.Errorf("want %d conflicts, got %v", n, c)
	}
	return err
}

func checkNested(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graphOf(k.s, l, l)
	if err != nil {
		return err
	}
	c, err := g.Clone()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(checkChild(k, c, g), c.Close(), g.Close())
}

func checkChild(k *kit, c, g *graph.Graph) error {
	if _, err := c.AddChild(g); err != nil {
		return err
	}
	if err := expectConflicts(c, 4); err != nil {
		return err
	}
	x, err := c.Instantiate()
	if err != nil {
		return err
	}
	return errors.Join(x.Run(context.Background(), k.s), x.Close())
}
