package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Nodes in nodes are set like others, and a loop is launched like any graph,
// without allocating. The null driver has no bodies, but child graphs.
func TestSteadyStateOfNodesInNodesAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, nullDriver(t)))
		g := k.graph()
		n, err := g.AddChild(k.graph())
		k.ok(err)
		inner, err := n.ChildGraph()
		k.ok(err)
		steadyInside(k, g, inner)
	})
	t.Run("gpu", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, gputest.GPU(t)))
		g := k.graph()
		counter := k.words(0)
		c := k.cond(g)
		loop, err := c.Within(counter, 3)
		k.ok(err)
		start := k.add(g, k.op(loop.Start()))
		_, body := k.addWhile(g, c, start)
		k.add(body, k.op(loop.Next()))
		steadyInside(k, g, body)
	})
}

func steadyInside(k *kit, g, inner *graph.Graph) {
	k.Helper()
	a, b := k.memory(), k.memory()
	toA, toB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
	n := k.add(inner, toA)
	x := k.exec(g)
	none := k.none
	odd := false
	none("Set of a node in a node, and Launch", func() {
		if odd = !odd; odd {
			k.ok(x.Set(n, toB))
		} else {
			k.ok(x.Set(n, toA))
		}
		k.ok(x.Launch(k.s))
	})
	k.wait(k.s)
	none("SetArg and Set of a node in a node", func() {
		k.ok(driver.SetArg(toA, 2, uint32(7)))
		k.ok(x.Set(n, toA))
	})
}

// A node in a body is set while launches run: each launch has the parameters of
// its time.
func TestNodeInABodyIsSetWhileLaunchesRun(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		c := k.cond(g)
		loop, err := c.Within(k.words(0), 3)
		k.ok(err)
		_, body := k.addWhile(g, c, k.add(g, k.op(loop.Start())))
		a, b := k.memory(), k.memory()
		next := k.add(body, k.op(loop.Next()))
		n := k.add(body, k.launch(k.plus, a, 1), next)
		x := k.exec(g)
		const launches = 100
		for i := range launches {
			if i%2 == 0 {
				k.ok(x.Set(n, k.launch(k.plus, a, uint32(i))))
			} else {
				k.ok(x.Set(n, k.launch(k.plus, b, uint32(i))))
			}
			k.ok(x.Launch(k.s))
		}
		k.expect(a, 1+3*(launches/2)*(launches/2-1))
		k.expect(b, 1+3*(launches/2)*(launches/2))
	})
}
