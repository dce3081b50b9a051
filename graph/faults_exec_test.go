package graph_test

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func init() {
	flows = append(flows,
		flow{"bound parameters", boundFlow},
		flow{"burst, update, launch", burstFlow},
		flow{"stage across streams", stageFlow},
		flow{"device launch and upload", deviceLaunchFlow})
}

func boundFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graph.New(k.c)
	if err != nil {
		return err
	}
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{l, l, l}))
	if err != nil {
		return errors.Join(err, g.Close())
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	buffers, err := setBound(k, x, nodes, l)
	errs := []error{err, x.Close(), g.Close()}
	for _, b := range buffers { // which nobody else refers to any more
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// setBound sets a number and memory of each node.
func setBound(k *kit, x *graph.Exec, nodes []graph.Node, l *driver.Launch) (buffers []*driver.Buffer[uint32], err error) {
	bs := x.Bindings()
	for i, n := range nodes {
		v, err := graph.Bind[uint32](bs, n, l, 2)
		if err != nil {
			return buffers, err
		}
		p, err := graph.Bind[*driver.Buffer[uint32]](bs, n, l, 0)
		if err != nil {
			return buffers, err
		}
		b, err := driver.Alloc[uint32](k.c, elems)
		if err != nil {
			return buffers, err
		}
		buffers = append(buffers, b)
		if err := errors.Join(v.Set(uint32(i)), p.Set(b), bs.Launch(k.s)); err != nil {
			return buffers, errors.Join(err, x.Wait(context.Background()))
		}
	}
	return buffers, x.Wait(context.Background())
}

func burstFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 3)
	if err != nil {
		return err
	}
	capture := func(ops ...driver.Op) (*graph.Graph, error) {
		return graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(ops...) })
	}
	g, err := capture(l, l, fill, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	err = func() error {
		again, err := capture(l, l, fill, l)
		if err != nil {
			return err
		}
		if _, err := x.Update(again); err != nil {
			return errors.Join(err, again.Close())
		}
		return errors.Join(again.Close(), x.Run(context.Background(), k.s))
	}()
	return errors.Join(err, x.Close(), g.Close())
}

func stageFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	fill, err := driver.Fill[uint32](b, 3)
	if err != nil {
		return err
	}
	g, err := graphOf(k.s, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	other, err := k.c.NewStream()
	if err != nil {
		return errors.Join(err, x.Close(), g.Close())
	}
	err = func() error {
		for range 2 {
			if err := x.Stage(other, fill); err != nil {
				return err
			}
			if err := x.Launch(k.s); err != nil {
				return err
			}
		}
		return x.Wait(context.Background())
	}()
	return errors.Join(err, x.Close(), g.Close(), other.Close())
}

func deviceLaunchFlow(k *kit, b *driver.Buffer[uint32]) error {
	l, err := k.plus.Prepare(config, b, uint32(elems), uint32(1))
	if err != nil {
		return err
	}
	g, err := graphOf(k.s, l, l)
	if err != nil {
		return err
	}
	x, err := g.Instantiate(graph.WithDeviceLaunch(), graph.WithUpload(k.s))
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(x.Run(context.Background(), k.s), x.Close(), g.Close())
}
