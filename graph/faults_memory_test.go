package graph_test

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
)

func init() {
	flows = append(flows,
		flow{"scalar", scalarFlow},
		flow{"graph memory", graphMemoryFlow},
		flow{"captured memory, freed with the launch", capturedMemoryFlow},
		flow{"user object", userObjectFlow},
		flow{"cache with fixed blocks", func(k *kit, b *driver.Buffer[uint32]) error { return cacheFlow(k, b) }},
		flow{"cache with nodes", func(k *kit, b *driver.Buffer[uint32]) error { return cacheFlow(k, b, cache.WithAllocNodes()) }},
	)
}

func scalarFlow(k *kit, b *driver.Buffer[uint32]) error {
	s, err := graph.NewScalar(k.c, quad{A: 1})
	if err != nil {
		return err
	}
	err = errors.Join(s.Set(k.s, quad{A: 2}), s.Set(k.s, quad{A: 3}))
	small, smallErr := graph.NewScalar(k.c, uint32(1))
	if smallErr == nil {
		smallErr = errors.Join(small.Set(k.s, 2), small.Close())
	}
	return errors.Join(err, smallErr, k.s.Wait(context.Background()), s.Close())
}

// graphMemoryFlow has a graph leave memory that is used, freed and left again.
func graphMemoryFlow(k *kit, b *driver.Buffer[uint32]) error {
	g, err := graph.New(k.c)
	if err != nil {
		return err
	}
	op, err := driver.NewAlloc[uint32](k.c, nil, elems)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	left, n, err := graph.AddAlloc(g, op)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(useMemory(k, g, left, n, op), g.Close(), left.Close())
}

func useMemory(k *kit, g *graph.Graph, left *driver.Buffer[uint32], n graph.Node, op *driver.AllocOp[uint32]) error {
	tmp, n, err := graph.AddAlloc(g, op, n)
	if err != nil {
		return err
	}
	defer tmp.Close()
	move, err := driver.CopyDevice[uint32](left, tmp)
	if err != nil {
		return err
	}
	if n, err = g.Add(move, n); err != nil {
		return err
	}
	free, err := driver.NewFree(tmp)
	if err != nil {
		return err
	}
	if _, err := g.AddFree(free, n); err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	run := func() error { return x.Run(context.Background(), k.s) }
	if err = run(); err == nil {
		if err = k.s.FreeGraphMemory(left); err == nil {
			err = run()
		}
	}
	_, statsErr := k.c.Device().GraphMemStats()
	return errors.Join(err, statsErr, x.Close(), k.c.Device().ResetGraphMemStats(), k.c.Device().TrimGraphMem())
}

func capturedMemoryFlow(k *kit, b *driver.Buffer[uint32]) error {
	op, err := driver.NewAlloc[uint32](k.c, nil, elems)
	if err != nil {
		return err
	}
	var out *driver.Buffer[uint32]
	err = captureMemory(k, op, &out)
	return errors.Join(err, out.Close())
}

func captureMemory(k *kit, op *driver.AllocOp[uint32], to **driver.Buffer[uint32]) error {
	g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
		out, err := graph.Allocate(sc, op)
		if err != nil {
			return err
		}
		*to = out
		set, err := driver.Fill(out, uint32(1))
		if err != nil {
			return err
		}
		return sc.Do(set)
	})
	if err != nil {
		return err
	}
	x, err := g.Instantiate(graph.WithAutoFree())
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(x.Run(context.Background(), k.s), x.Run(context.Background(), k.s), g.Close(), x.Close())
}

func userObjectFlow(k *kit, b *driver.Buffer[uint32]) error {
	g, err := graph.New(k.c)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	u, err := k.c.NewUserObject(func() { close(done) })
	if err != nil {
		return errors.Join(err, g.Close())
	}
	err = g.RetainUserObject(u, 2)
	if err == nil {
		err = g.ReleaseUserObject(u, 1)
	}
	retained := u.Retain(1)
	err = errors.Join(err, retained)
	if retained == nil {
		err = errors.Join(err, u.Release(1))
	}
	err = errors.Join(err, g.MoveUserObject(u), u.Close(), g.Close())
	if err == nil {
		<-done
	}
	return err
}

func cacheFlow(k *kit, b *driver.Buffer[uint32], opts ...cache.Option) error {
	c, err := cache.New(k.c, opts...)
	if err != nil {
		return err
	}
	err = cacheUse(k, c, b)
	_, trimErr := c.Trim()
	return errors.Join(err, trimErr, c.Close())
}

func cacheUse(k *kit, c *cache.Cache, b *driver.Buffer[uint32]) error {
	outside, err := cache.Alloc[uint32](c, k.s, elems)
	if err != nil {
		return err
	}
	g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
		tmp, err := cache.Alloc[uint32](c, sc.Stream(), elems)
		if err != nil {
			return err
		}
		defer tmp.Close()
		set, err := driver.Fill(tmp, uint32(1))
		if err != nil {
			return err
		}
		move, err := driver.CopyDevice[uint32](b, tmp)
		if err != nil {
			return err
		}
		return errors.Join(sc.Do(set), sc.Do(move), c.Free(sc.Stream(), tmp))
	})
	if err != nil {
		return errors.Join(err, outside.Close())
	}
	return errors.Join(replay(k, g), g.Close(), c.Free(k.s, outside), outside.Close())
}
