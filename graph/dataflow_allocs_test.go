package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// To note what nodes use costs no allocation of its own, also where a launch
// gets other memory for each node.
func TestNotingMemoryAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { noteMemory(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func noteMemory(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	l := k.launch(k.plus, a, 1)
	g := k.graph()
	n := k.add(g, l)
	at := 0
	other := func() {
		at = (at + 1) % elems
		k.ok(driver.SetArg(l, 0, a.View(at, elems)))
	}
	none := k.none
	none("Add with other memory, amortised", func() {
		other()
		k.add(g, l)
	})
	none("Node.Set with other memory", func() {
		other()
		k.ok(n.Set(l))
	})
	ops := []driver.Op{l, l, k.launch(k.plus, b, 1)}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain with other memory, amortised", func() {
		other()
		var err error
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.ok(err)
	})
	r, err := graph.Begin(k.s, graph.ModeRelaxed)
	k.ok(err)
	defer func() { k.ok(r.Abort()) }()
	none("Scope.Do with other memory, amortised", func() {
		other()
		k.ok(r.Scope().Do(l))
	})
	k.ok(driver.SetArg(l, 0, driver.In(a)))
	none("declared arguments", func() {
		k.ok(driver.SetArg(l, 0, driver.In(b)))
		k.ok(driver.SetArg(l, 0, driver.Out(a)))
	})
}
