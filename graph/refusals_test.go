package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// What is closed, or is not what it should be, is refused before anything is
// recorded or changed.
func TestWhatCannotTakePartIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		g, other := k.graph(), k.graph()
		n, there := k.add(g, l), k.add(other, l)
		closed, shut := k.graph(), k.graph()
		k.ok(closed.Close())
		k.ok(shut.Close())
		stream := k.stream()
		k.ok(stream.Close())
		params := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY}
		gone := k.add(other, l)
		k.ok(gone.Destroy())
		calls := 0
		record := func(*graph.Scope) error { calls++; return nil }
		for what, err := range map[string]error{
			"a node of a closed graph":                 errorOf(closed.AddNode(params, nil)),
			"a child that is closed":                   errorOf(g.AddChild(closed)),
			"a child for a closed graph":               errorOf(closed.AddChild(g)),
			"handing over to a closed graph":           errorOf(closed.AddChildMove(other)),
			"a capture into a closed graph":            errorOf(intoGraph(closed, k.s, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream":             errorOf(intoGraph(g, stream, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream, begun":      errorOf(beginInto(g, stream, graph.ModeRelaxed)),
			"a capture into a closed graph, begun":     errorOf(beginInto(closed, k.s, graph.ModeRelaxed)),
			"attributes from a node of a closed graph": n.CopyAttributes(graph.Node{}),
			"a plan in a closed graph":                 errorOf(closed.AddPlan(nil)),
			"an edge in a closed graph":                closed.AddEdges(edgesOf([]graph.Node{n}, []graph.Node{n})...),
			"a clone of a closed graph":                errorOf(closed.Clone()),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		for what, err := range map[string]error{
			"attributes of a node that is gone":  gone.CopyAttributes(n),
			"attributes for a node that is gone": n.CopyAttributes(gone),
			"attributes of two nodes, one gone":  gone.CopyAttributes(there),
			"attributes for one, of one gone":    there.CopyAttributes(gone),
		} {
			if err == nil || !strings.Contains(err.Error(), "was destroyed") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if calls != 0 {
			t.Errorf("%d captures were recorded", calls)
		}
		if count, err := g.Len(); err != nil || count != 1 {
			t.Errorf("the graph has %d nodes, %v", count, err)
		}
		k.usable(k.s)
	})
}

// A capture of a stream into a graph inside another, whose stream is closed, is
// refused as one into the outer graph is.
func TestAClosedStreamRecordsNothingIntoAChild(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g, inner := k.graph(), k.graph()
		k.add(inner, k.launch(k.plus, b, 1))
		n, err := g.AddChild(inner)
		k.ok(err)
		part, err := n.ChildGraph()
		k.ok(err)
		s := k.stream()
		k.ok(s.Close())
		if _, err := intoGraph(part, s, graph.ModeRelaxed, nil, func(*graph.Scope) error {
			t.Error("it was recorded")
			return nil
		}); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGraphsWithConditionalsAreNotHandedOver(t *testing.T) {
	each(t, func(k *kit) {
		g, child := k.graph(), k.graph()
		k.addIf(child, k.cond(child))
		_, err := g.AddChildMove(child)
		k.expectReason("handed over", err, driver.CUDA_ERROR_NOT_SUPPORTED, "cannot be handed over", "IF node")
		if n, err := g.Len(); err != nil || n != 0 {
			t.Errorf("%d nodes, %v", n, err)
		}
		k.add(child, k.launch(k.plus, k.memory(), 1)) // it is still whole
	})
}

func TestScopesFreeOnlyMemoryOfGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b, err := driver.AllocAsync[uint32](k.s, elems)
		k.ok(err)
		k.closeLater(b)
		k.wait(k.s)
		op, err := driver.NewFree(b)
		if err != nil {
			return // it cannot be made
		}
		_, err = graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			if err := sc.Free(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("nothing: %v", err)
			}
			return sc.Free(op)
		})
		k.expectReason("freed", err, driver.CUDA_ERROR_INVALID_VALUE, "not memory of an allocation node")
		k.ok(k.s.Do(k.launch(k.plus, b, 1)))
		k.wait(k.s)
	})
}

// A node inside a child graph takes the operations that a node of the graph
// itself takes, and no others.
func TestNodesInsideAChildRefuseOtherOperations(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		inner, g := k.graph(), k.graph()
		k.add(inner, k.launch(k.plus, b, 1))
		child, err := g.AddChild(inner)
		k.ok(err)
		part, err := child.ChildGraph()
		k.ok(err)
		n := k.nodes(part)[0]
		x := k.exec(g)
		other, err := k.c.Device().NewContext(0)
		k.ok(err)
		k.closeLater(other)
		m, err := other.LoadModule([]byte(kernels))
		k.ok(err)
		k.closeLater(m)
		f, err := m.Kernel("plus")
		k.ok(err)
		far, err := driver.Alloc[uint32](other, elems)
		k.ok(err)
		k.closeLater(far)
		foreign, err := f.Prepare(config, far, uint32(elems), uint32(1))
		k.ok(err)
		for what, err := range map[string]error{
			"nothing":                     x.Set(n, nil),
			"a launch that is nil":        x.Set(n, (*driver.Launch)(nil)),
			"a launch of another context": x.Set(n, foreign),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) && !errors.Is(err, driver.ErrClosed) && !errors.Is(err, driver.CUDA_ERROR_INVALID_CONTEXT) {
				t.Errorf("%s: %v", what, err)
			}
		}
		k.ok(x.Set(n, k.launch(k.plus, b, 5)))
		k.run(x)
		k.expect(b, 6)
	})
}

// A launch with bound parameters on a stream of another context changes them
// first; where that fails nothing is launched.
func TestBindingsOnAStreamOfAnotherContextReportWhatFails(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	x, plus, _, ops := k.bound(b)
	bs := x.Bindings()
	add := bind[uint32](k, bs, plus, ops[0], "v")
	other, err := k.c.Device().NewContext(0)
	k.ok(err)
	k.closeLater(other)
	s, err := other.NewStream()
	k.ok(err)
	k.closeLater(s)
	k.ok(add.Set(4))
	lib.FailCall(cu.FnCuGraphExecKernelNodeSetParams.Symbol(), 1, uint32(injected))
	err = bs.Launch(s)
	lib.Stop()
	if !errors.Is(err, injected) {
		t.Errorf("got %v", err)
	}
	k.expect(b, 1)
	k.ok(bs.Launch(s))
	k.wait(s)
	k.expect(b, 5)
}

// A snapshot of a graph that the driver does not tell all of is an error.
func TestDetailsThatAreNotToldAreAnError(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	g := newSubject(k).g
	k.alloc(g)
	lib.Count()
	k.snapshot(g)
	for i, c := range lib.Stop() {
		lib.FailNth(i+1, uint32(injected))
		_, err := g.Snapshot()
		lib.Stop()
		if !errors.Is(err, injected) {
			t.Errorf("%s failed, got %v", c.Symbol, err)
		}
	}
}
