package graph_test

import (
	"reflect"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func typeName(v any) string { return reflect.TypeOf(v).String() }

// The steady state of a program that replays graphs allocates nothing. The
// emulator allocates in its own right, so this is measured on a driver whose
// calls do nothing, and on the GPU.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { steadyState(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func steadyState(k *kit) {
	k.Helper()
	a, b := k.memory(), k.memory()
	g := k.graph()
	toA, toB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
	n := k.add(g, toA)
	fill, err := driver.Fill[uint32](a, 4)
	k.ok(err)
	copyOp, err := driver.CopyDevice[uint32](a, b)
	k.ok(err)
	fillNode, copyNode := k.add(g, fill, n), k.add(g, copyOp, n)
	x := k.exec(g)
	odd := false
	none := k.none
	none("Launch", func() { k.ok(x.Launch(k.s)) })
	k.ok(x.Wait(background))
	none("Exec.Set of a kernel", func() { k.ok(x.Set(n, toA)) })
	none("Exec.Set to other memory", func() {
		odd = !odd
		if odd {
			k.ok(x.Set(n, toB))
		} else {
			k.ok(x.Set(n, toA))
		}
	})
	none("Exec.Set of a fill", func() { k.ok(x.Set(fillNode, fill)) })
	none("Exec.Set of a copy", func() { k.ok(x.Set(copyNode, copyOp)) })
	none("Node.Set", func() { k.ok(n.Set(toA)) })
	none("Set and Launch", func() {
		k.ok(x.Set(n, toB))
		k.ok(x.Launch(k.s))
	})
	changes := []graph.Change{{Node: n, Op: toB}, {Node: fillNode, Op: fill}, {Node: n, Op: toB}}
	none("SetBatch", func() { k.ok(x.SetBatch(changes)) })
	none("Enable", func() { k.ok(x.Enable(n, true)) })
	k.wait(k.s)
	none("Add, amortised", func() { k.add(g, toA, n) })
	none("Add with two dependencies, amortised", func() { k.add(g, toA, n, fillNode) })
	ops := []driver.Op{toA, toB, fill, copyOp}
	nodes := make([]graph.Node, 0, len(ops))
	chain := graph.Chain(ops)
	none("AddBatch of a chain, amortised", func() {
		nodes, err = g.AddBatch(nodes[:0], chain)
		k.ok(err)
	})
	p := k.chainPlan(ops...)
	none("AddPlan, amortised", func() { k.addPlan(g, p, n) })
	none("AddPlan after other arguments", func() {
		k.ok(driver.SetArg(toA, 2, uint32(7)))
		k.addPlan(g, p)
	})
	none("Nodes.At", func() { n = k.addPlan(g, p, n).At(3) })
	fresh := k.graph()
	for _, what := range []string{"AddPlan to one graph", "AddPlan to the other"} {
		none(what, func() {
			k.addPlan(fresh, p)
			k.addPlan(g, p)
		})
	}
}
