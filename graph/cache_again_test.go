package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A program that captures every step does not grow: what the graphs of earlier
// steps had is given to later ones.
func TestBlocksOfClosedGraphsServeLaterCaptures(t *testing.T) {
	each(t, func(k *kit) {
		c, err := graph.NewCache(k.c)
		k.ok(err)
		k.closeLater(c)
		out := k.memory()
		for step := range uint32(50) {
			g := k.capture(func(sc *graph.Scope) error {
				b, err := graph.AllocFrom[uint32](c, sc.Stream(), elems)
				k.ok(err)
				fill, err := driver.Fill(b, step)
				k.ok(err)
				read, err := driver.CopyDevice[uint32](out, b)
				k.ok(err)
				k.ok(sc.DoAll(fill, read))
				return c.Free(sc.Stream(), b)
			})
			x, err := g.Instantiate()
			k.ok(err)
			k.run(x)
			k.ok(x.Close())
			k.ok(g.Close())
			k.expect(out, step)
		}
		if s := c.Stats(); s.Allocated != 1 || s.Reused != 49 || s.OfGraphs != 0 {
			k.Errorf("after 50 captures: %+v", s)
		}
	})
}

// What came back in the order of a stream may be in use there: a graph that runs
// on another one must not have it.
func TestBlocksOfAStreamAreNotForCaptures(t *testing.T) {
	each(t, func(k *kit) {
		c, err := graph.NewCache(k.c)
		k.ok(err)
		k.closeLater(c)
		b, err := graph.AllocFrom[uint32](c, k.s, elems)
		k.ok(err)
		at := b.Ptr()
		k.ok(c.Free(k.s, b))
		k.capture(func(sc *graph.Scope) error {
			own, err := graph.AllocFrom[uint32](c, sc.Stream(), elems)
			k.ok(err)
			if own.Ptr() == at {
				k.Error("the capture got a block that its stream may still use")
			}
			k.ok(sc.Do(k.launch(k.plus, own, 1)))
			return c.Free(sc.Stream(), own)
		})
	})
}
