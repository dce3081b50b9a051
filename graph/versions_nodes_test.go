package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// tooOld looks for the answer of a driver that lacks what came later.
func (k *kit) tooOld(what, since string, err error) {
	k.Helper()
	if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), since) {
		k.Errorf("%s before CUDA %s: %v", what, since, err)
	}
}

func TestRareNodesOnOldDrivers(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 5)
		n := k.add(g, l)
		child := k.graph()
		inner, err := g.AddChild(child, n)
		k.ok(err)
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](n) // by the form of that time
		k.ok(err)
		if p.GridDimX != 1 || p.BlockDimX != elems || p.Func == 0 {
			k.Errorf("parameters %+v", p)
		}
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 7, 0))
		k.ok(err)
		_, err = g.Add(write)
		k.tooOld("a node of memory operations", "11.7", err)
		_, err = g.AddBatch(nil, graph.Chain([]driver.Op{l, write}))
		k.tooOld("a node of memory operations in a chain", "11.7", err)
		_, err = g.AddPlan(k.chainPlan(l, write))
		k.tooOld("a node of memory operations in a plan", "11.7", err)
		_, err = n.KernelArgs()
		k.tooOld("a kernel's arguments", "12.4", err)
		k.tooOld("a child that is set", "12.2", inner.SetChild(child))
		_, err = addAfter(g, l, graph.Programmatic(n, graph.Node{}))
		k.tooOld("a programmatic dependency", "12.3", err)
		if count, err := g.Len(); count != 2 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.run(k.exec(g))
		k.expect(b, 6)
	})
}
