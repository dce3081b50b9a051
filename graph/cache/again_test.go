package cache_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
)

// If a program captures a graph in every step, captures must reuse the blocks of closed graphs, so
// that memory use does not grow.
func TestBlocksOfClosedGraphsServeLaterCaptures(t *testing.T) {
	each(t, func(k *kit) {
		c, err := cache.New(k.C)
		k.OK(err)
		k.CloseLater(c)
		out := k.Memory()
		for step := range uint32(50) {
			g := k.Capture(func(sc *graph.Scope) error {
				b, err := cache.Alloc[uint32](c, sc.Stream(), elems)
				k.OK(err)
				fill, err := driver.Fill(b, step)
				k.OK(err)
				read, err := driver.CopyDevice[uint32](out, b)
				k.OK(err)
				k.OK(sc.Do(fill, read))
				return c.Free(sc.Stream(), b)
			})
			x, err := g.Instantiate()
			k.OK(err)
			k.Run(x)
			k.OK(x.Close())
			k.OK(g.Close())
			k.Expect(out, step)
		}
		if s := c.Stats(); s.Allocated != 1 || s.Reused != 49 || s.OfGraphs != 0 {
			k.Errorf("after 50 captures: %+v", s)
		}
	})
}

// A block freed in stream order may still be in use on that stream. A capture must not get it,
// because its graph may run on another stream.
func TestBlocksOfAStreamAreNotForCaptures(t *testing.T) {
	each(t, func(k *kit) {
		c, err := cache.New(k.C)
		k.OK(err)
		k.CloseLater(c)
		b, err := cache.Alloc[uint32](c, k.S, elems)
		k.OK(err)
		at := b.Ptr()
		k.OK(c.Free(k.S, b))
		k.Capture(func(sc *graph.Scope) error {
			own, err := cache.Alloc[uint32](c, sc.Stream(), elems)
			k.OK(err)
			if own.Ptr() == at {
				k.Error("the capture got a block that its stream may still use")
			}
			k.OK(sc.Do(k.Launch(k.Plus, own, 1)))
			return c.Free(sc.Stream(), own)
		})
	})
}
