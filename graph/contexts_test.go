package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// beside returns a kit of a second context on the same device.
func (k *kit) beside() *kit {
	k.Helper()
	c, err := k.c.Device().NewContext(0)
	k.ok(err)
	k.closeLater(c)
	return newKit(k.TB, c)
}

func TestOperationsOfAnotherContextRunInItsOwn(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b := k.memory(), there.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, here, 1))
		n = k.add(g, there.launch(there.plus, b, 4), n)
		fill, err := driver.Fill(b.All().View(0, 1), 9)
		k.ok(err)
		k.add(g, fill, n)
		x := k.exec(g)
		k.run(x)
		k.expect(here, 2)
		got := make([]uint32, elems)
		k.ok(b.CopyTo(got))
		if got[0] != 9 || got[1] != 5 {
			k.Errorf("the other context's memory has %v", got[:2])
		}
	})
}

func TestCopyBetweenContextsInOneGraph(t *testing.T) {
	each(t, func(k *kit) {
		copyBetween(k, k.beside())
	})
}

func TestCopyBetweenDevicesInOneGraph(t *testing.T) {
	t.Run("emulator", func(t *testing.T) { copyBetweenDevices(t, gputest.Emulator(t, emulator.Config{Devices: 2})) })
	t.Run("gpu", func(t *testing.T) { copyBetweenDevices(t, gputest.GPUs(t, 2)) })
}

func copyBetweenDevices(t *testing.T, d *driver.Driver) {
	k := newKit(t, gputest.Context(t, d))
	dev, err := d.Device(1)
	k.ok(err)
	c, err := dev.PrimaryContext()
	k.ok(err)
	k.closeLater(c)
	copyBetween(k, newKit(t, c))
}

// copyBetween changes memory there, copies it here and changes it here: added by
// hand, as a batch and as a plan.
func copyBetween(k, there *kit) {
	k.Helper()
	here, b := k.memory(), there.memory()
	move, err := driver.CopyDevice[uint32](here, b)
	k.ok(err)
	ops := []driver.Op{there.launch(there.plus, b, 4), move, k.launch(k.times, here, 3)}
	p, err := graph.NewPlan(k.c, graph.Chain(ops))
	k.ok(err)
	k.closeLater(p)
	want := uint32(1)
	for _, add := range []func(g *graph.Graph) error{
		func(g *graph.Graph) error {
			n := k.add(g, ops[0])
			n = k.add(g, ops[1], n)
			_, err := g.Add(ops[2], n)
			return err
		},
		func(g *graph.Graph) error { _, err := g.AddBatch(nil, graph.Chain(ops)); return err },
		func(g *graph.Graph) error { _, err := g.AddPlan(p); return err },
	} {
		g := k.graph()
		k.ok(add(g))
		k.run(k.exec(g))
		want += 4
		k.expect(here, want*3)
	}
}

// The calls that set a copy or fill keep the context that the node has; a node
// that is set to an operation of another context takes that one's.
func TestNodesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b, c := k.memory(), there.memory(), there.memoryOf(7)
		there.closeLater(c)
		g := k.graph()
		fillHere, err := driver.Fill[uint32](here, 3)
		k.ok(err)
		fillThere, err := driver.Fill[uint32](b, 5)
		k.ok(err)
		copyThere, err := driver.CopyDevice[uint32](b, c)
		k.ok(err)
		n := k.add(g, fillHere)
		k.ok(n.Set(fillThere))
		k.run(k.exec(g))
		k.expect(here, 1)
		there.expect(b, 5)
		k.ok(n.Set(fillHere))
		last := k.add(g, copyThere, n)
		k.ok(last.Set(copyThere))
		k.run(k.exec(g))
		k.expect(here, 3)
		there.expect(b, 7)
	})
}

func TestExecutablesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b := k.memory(), there.memory()
		fill := func(v uint32) *driver.FillOp {
			op, err := driver.Fill[uint32](b, v)
			k.ok(err)
			return op
		}
		g := k.graph()
		f := k.add(g, fill(3))
		n := k.add(g, there.launch(there.plus, b, 1), f)
		x := k.exec(g)
		k.ok(x.Set(f, fill(10)))
		k.ok(x.Set(n, there.launch(there.times, b, 2)))
		k.run(x)
		there.expect(b, 20)
		// A kernel's context stays.
		if err := x.Set(n, k.launch(k.plus, here, 1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a kernel of another context: %v", err)
		}
		k.run(x)
		there.expect(b, 20)
	})
}

func TestOperationsOfAnotherDriverAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		far := newKit(k.TB, gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"})))
		b := k.memory()
		theirs := far.launch(far.plus, far.memory(), 1)
		g, other := k.graph(), far.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		in, err := g.AddChild(k.graph(), n)
		k.ok(err)
		x := k.exec(g)
		for name, err := range map[string]error{
			"Add":          second(g.Add(theirs)),
			"AddAfter":     second(addAfter(g, theirs, graph.Edge{From: n})),
			"AddChain":     second(g.AddBatch(nil, graph.Chain([]driver.Op{theirs}))),
			"NewChainPlan": second(graph.NewPlan(k.c, graph.Chain([]driver.Op{theirs}))),
			"AddChild":     second(g.AddChild(other)),
			"AddChildMove": second(g.AddChildMove(other)),
			"SetChild":     in.SetChild(other),
			"Set":          n.Set(theirs),
			"Exec.Set":     x.Set(n, theirs),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "another driver") {
				k.Errorf("%s: %v", name, err)
			}
		}
		k.run(x)
		k.expect(b, 2)
	})
}
