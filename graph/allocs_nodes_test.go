package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestRareNodesAreSetWithoutAllocating(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, nullDriver(t)))
		rareNodes(k)
		semaphoreNodes(k)
	})
	t.Run("gpu", func(t *testing.T) { rareNodes(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func rareNodes(k *kit) {
	k.Helper()
	b := k.memory()
	op, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 1, 0), driver.WriteWord[uint32](b, 1, 2, 0))
	k.ok(err)
	l := k.launch(k.plus, b, 1)
	g := k.graph()
	n := k.add(g, op)
	kernel := k.add(g, l, n)
	x := k.exec(g)
	k.none("Exec.Set of memory operations", func() { k.ok(x.Set(n, op)) })
	k.none("Node.Set of memory operations", func() { k.ok(n.Set(op)) })
	p := fillParams(b, 3)
	fill, err := g.AddNode(p, nil)
	k.ok(err)
	k.none("Node.SetParams", func() { k.ok(fill.SetParams(p)) })
	k.none("Add, then AddEdges with data, amortised", func() {
		n, err := g.Add(l)
		k.ok(err)
		k.ok(g.AddEdges(graph.Programmatic(kernel, n)))
	})
	k.run(x)
}

// semaphoreNodes is measured where semaphores can be had for the asking.
func semaphoreNodes(k *kit) {
	k.Helper()
	s, err := k.c.ImportSemaphoreFD(timelineFD, 3)
	k.ok(err)
	k.closeLater(s)
	signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: s})
	k.ok(err)
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: s})
	k.ok(err)
	g := k.graph()
	n := k.add(g, signal)
	w := k.add(g, wait, n)
	x := k.exec(g)
	v := uint64(0)
	k.none("a signal with another value", func() {
		v++
		k.ok(signal.SetValue(0, v))
		k.ok(x.Set(n, signal))
		k.ok(k.s.Do(signal))
	})
	k.none("a wait for another value", func() {
		v++
		k.ok(wait.SetValue(0, v))
		k.ok(x.Set(w, wait))
		k.ok(k.s.Do(wait))
	})
}
