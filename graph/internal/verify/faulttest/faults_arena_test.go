package faulttest_test

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
)

func init() {
	flows = append(flows,
		flow{"arena, launches on two streams", func(k *kit, b *driver.Buffer[uint32]) error { return k.inArena(b) }},
		flow{"arena with a limit", func(k *kit, b *driver.Buffer[uint32]) error {
			return k.inArena(b, arena.WithChunk(1), arena.WithLimit(64<<20))
		}},
		flow{"arena with refusal and checks", func(k *kit, b *driver.Buffer[uint32]) error {
			return k.inArena(b, arena.WithRefusal(), arena.WithCheck(func(error) {}))
		}},
	)
}

// inArena runs graphs of two plans of an arena on two streams. The arena grows between the plans.
func (k *kit) inArena(b *driver.Buffer[uint32], opts ...arena.Option) error {
	a, err := arena.New(k.C, opts...)
	if err != nil {
		return err
	}
	other, err := k.C.NewStream()
	if err != nil {
		return errors.Join(err, a.Close())
	}
	first, err := k.ofPlan(a, "first", b, elems)
	if err != nil {
		return errors.Join(err, other.Close(), a.Close())
	}
	second, err := k.ofPlan(a, "second", b, 3<<20)
	if err != nil {
		return errors.Join(err, first.Close(), other.Close(), a.Close())
	}
	err = runBoth(first, second, k.S, other)
	return errors.Join(err, first.Close(), second.Close(), other.Close(), a.Close())
}

// ofPlan returns an Exec that adds 0 to b through memory of a new plan.
func (k *kit) ofPlan(a *arena.Arena, name string, b *driver.Buffer[uint32], n int) (*graph.Exec, error) {
	p, err := a.Plan(name)
	if err != nil {
		return nil, err
	}
	x, err := k.record(p, b, n)
	if err = errors.Join(err, p.Close()); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (k *kit) record(p *arena.Plan, b *driver.Buffer[uint32], n int) (*graph.Exec, error) {
	tmp, err := arena.Alloc[uint32](p, n)
	if err != nil {
		return nil, err
	}
	in, err := driver.CopyDevice[uint32](tmp.View(0, elems), b)
	if err != nil {
		return nil, err
	}
	l, err := k.Plus.Prepare(config, tmp, uint32(elems), uint32(0))
	if err != nil {
		return nil, err
	}
	g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(in, l) })
	if err != nil {
		return nil, err
	}
	x, err := g.Instantiate()
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if err := g.Close(); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func runBoth(first, second *graph.Exec, s, other *driver.Stream) error {
	for range 2 {
		if err := first.Run(background, s); err != nil {
			return err
		}
		if err := second.Launch(s); err != nil {
			return err
		}
		if err := second.Wait(background); err != nil {
			return err
		}
		if err := first.Launch(other); err != nil {
			return err
		}
		if err := first.Wait(background); err != nil {
			return err
		}
	}
	return nil
}
