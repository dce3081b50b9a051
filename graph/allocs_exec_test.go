package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Bound parameters, staging and bursts allocate nothing in the steady state.
func TestParametersOfEachStepAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { eachStep(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func eachStep(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	g := k.graph()
	l := k.launch(k.plus, a, 1)
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{l, l, l}))
	k.ok(err)
	x := k.exec(g)
	bs := x.Bindings()
	var numbers [3]graph.Param[uint32]
	var targets [3]graph.Param[*driver.Buffer[uint32]]
	for i, n := range nodes {
		numbers[i] = bind[uint32](k, bs, n, l, "v")
		targets[i] = bind[*driver.Buffer[uint32]](k, bs, n, l, "p")
	}
	fill, err := driver.Fill[uint32](a, 4)
	k.ok(err)
	none := k.none
	i := uint32(0)
	none("bound numbers", func() {
		for _, p := range numbers {
			i++
			k.ok(p.Set(i))
		}
		k.ok(bs.Launch(k.s))
	})
	none("bound memory", func() {
		to := a
		if i++; i%2 == 0 {
			to = b
		}
		for _, p := range targets {
			k.ok(p.Set(to))
		}
		k.ok(bs.Launch(k.s))
	})
	k.ok(x.Wait(background))
	none("nothing changed", func() { k.ok(bs.Launch(k.s)) })
	none("Send", func() { k.ok(numbers[0].Set(i)); i++; k.ok(bs.Send()) })
	ops := []driver.Op{fill}
	none("Stage", func() { k.ok(x.Stage(k.s, ops...)); k.ok(x.Launch(k.s)) })
	other := k.stream()
	none("Stage on another stream", func() { k.ok(x.Stage(other, ops...)); k.ok(x.Launch(k.s)) })
	k.wait(k.s)
}
