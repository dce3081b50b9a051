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

// alloc adds an allocation of the kit's number of elements.
func (k *kit) alloc(g *graph.Graph, deps ...graph.Node) (*driver.Buffer[uint32], graph.Node) {
	k.Helper()
	op, err := driver.NewAlloc[uint32](k.c, nil, elems)
	k.ok(err)
	b, n, err := graph.AddAlloc(g, op, deps...)
	k.ok(err)
	k.closeLater(b)
	return b, n
}

func (k *kit) free(g *graph.Graph, b *driver.Buffer[uint32], deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.NewFree(b)
	k.ok(err)
	n, err := g.AddFree(op, deps...)
	k.ok(err)
	return n
}

// fill fills memory with v in a graph.
func (k *kit) fill(g *graph.Graph, b driver.MemoryOf[uint32], v uint32, deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.Fill(b, v)
	k.ok(err)
	return k.add(g, op, deps...)
}

func (k *kit) copyNode(g *graph.Graph, dst, src driver.MemoryOf[uint32], deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.CopyDevice(dst, src)
	k.ok(err)
	return k.add(g, op, deps...)
}

// used returns what graphs have allocated, after what they do not use went back.
func (k *kit) used() uint64 {
	k.Helper()
	k.ok(k.c.Synchronize(background))
	k.ok(k.c.Device().TrimGraphMem())
	s, err := k.c.Device().GraphMemStats()
	k.ok(err)
	return s.Used
}

// expectReason wants the driver's code and words that explain it.
func (k *kit) expectReason(what string, err error, code driver.CUresult, words ...string) {
	k.Helper()
	if !errors.Is(err, code) {
		k.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

// leaving makes a graph that allocates, fills with v and frees nothing.
func (k *kit) leaving(v uint32) (*graph.Graph, *driver.Buffer[uint32]) {
	k.Helper()
	g := k.graph()
	b, n := k.alloc(g)
	k.fill(g, b, v, n)
	return g, b
}

func TestGraphAllocatesUsesAndFrees(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		out := k.memory()
		g := k.graph()
		tmp, a := k.alloc(g)
		if tmp.Ptr() == 0 || tmp.Len() != elems {
			t.Fatalf("the node gave %v", tmp)
		}
		n := k.fill(g, tmp, 20, a)
		n = k.add(g, k.launch(k.plus, tmp, 1), n)
		n = k.add(g, k.launch(k.times, tmp, 2), n)
		n = k.copyNode(g, out, tmp, n)
		f := k.free(g, tmp, n)
		x := k.exec(g)
		for range 3 {
			k.ok(out.Fill(0))
			k.run(x)
			k.expect(out, 42)
		}
		p, err := graph.ParamsOf[cu.CUDA_MEM_ALLOC_NODE_PARAMS](a)
		k.ok(err)
		if p.Dptr != tmp.Ptr() || p.Bytesize < elems*4 {
			t.Errorf("allocation node: %+v", p)
		}
		ptr, err := graph.ParamsOf[driver.CUdeviceptr](f)
		k.ok(err)
		if ptr != tmp.Ptr() {
			t.Errorf("free node: %#x, want %#x", ptr, tmp.Ptr())
		}
		if _, err := graph.ParamsOf[cu.CUDA_MEM_ALLOC_NODE_PARAMS](f); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("allocation parameters of a free node: %v", err)
		}
		// Nothing of it stays: the exec may still be launched.
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used after the launches, %d before", after, before)
		}
	})
}

// What a launch leaves is the program's until it frees it, and then the next
// launch allocates at the same address.
func TestGraphOutputIsGivenBackBeforeTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		g, b := k.leaving(7)
		x := k.exec(g)
		if k.s.FreeGraphMemory(b) == nil {
			t.Error("what no launch allocated was freed")
		}
		for range 3 {
			k.run(x)
			k.expect(b, 7)
			if k.used() == before {
				t.Error("the output does not count as used")
			}
			k.expectReason("second launch", x.Launch(k.s), driver.CUDA_ERROR_INVALID_VALUE, "left graph memory", "WithAutoFree")
			k.ok(k.s.FreeGraphMemory(b))
		}
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used after all was freed, %d before", after, before)
		}
		k.run(x) // the cleanup has to free this one
	})
}

// With AUTO_FREE_ON_LAUNCH an output is good until the next launch, and the
// last one is freed with the exec, the graph and the buffer.
func TestAutoFreeKeepsAnOutputUntilTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		g, err := graph.New(k.c)
		k.ok(err)
		op, err := driver.NewAlloc[uint32](k.c, nil, elems)
		k.ok(err)
		b, n, err := graph.AddAlloc(g, op)
		k.ok(err)
		value := scalarOf(k, uint32(0))
		n = k.fill(g, b, 5, n)
		sum, err := k.sum.Prepare(config, b.View(0, 1), b.View(0, 1), value, uint32(1))
		k.ok(err)
		k.add(g, sum, n)
		x, err := g.Instantiate(graph.WithAutoFree())
		k.ok(err)
		var high uint64
		for i := range uint32(20) {
			k.ok(value.Set(k.s, i))
			k.run(x)
			if got := fetch(k, b)[0]; got != 5+i {
				t.Fatalf("launch %d left %d", i, got)
			}
			if i == 0 {
				high = k.used()
			}
		}
		if now := k.used(); now != high || now == before {
			t.Errorf("%d bytes are used after 20 launches, %d after one, %d before", now, high, before)
		}
		k.ok(x.Close())
		k.ok(g.Close())
		if got := fetch(k, b)[0]; got != 24 { // the program still has it
			t.Errorf("after the exec was closed the output is %d", got)
		}
		k.ok(b.Close())
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used after all was closed, %d before", after, before)
		}
	})
}

// The buffer may be closed first: the memory goes with the last that needs it.
func TestGraphMemoryIsFreedWithTheLastReference(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		g, b := k.leaving(7)
		out := k.memory()
		n, err := driver.CopyDevice[uint32](out, b)
		k.ok(err)
		use := k.graph()
		k.add(use, n)
		x, y := k.exec(g), k.exec(use)
		k.run(x)
		k.ok(b.Close())
		k.ok(g.Close())
		k.ok(x.Close())
		k.ok(use.Close())
		k.run(y)
		k.expect(out, 7)
		k.ok(y.Close())
		graph.WaitParked()
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used after all was closed, %d before", after, before)
		}
	})
}

func TestBufferFreeAsyncClosesAndFreesAGraphsMemory(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		g, b := k.leaving(7)
		x := k.exec(g)
		k.run(x)
		k.ok(b.FreeAsync(k.s))
		if err := b.FreeAsync(k.s); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("second free: %v", err)
		}
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
		k.run(x) // still allocates, for its own nodes
	})
}

func TestAnotherGraphFreesTheMemory(t *testing.T) {
	each(t, func(k *kit) {
		before := k.used()
		out := k.memory()
		producer, b := k.leaving(9)
		consumer := k.graph()
		k.free(consumer, b, k.copyNode(consumer, out, b))
		p, c := k.exec(producer), k.exec(consumer)
		k.expectReason("free before the allocation", c.Launch(k.s), driver.CUDA_ERROR_INVALID_VALUE, "no launch has allocated")
		for range 3 {
			k.ok(out.Fill(0))
			k.ok(p.Launch(k.s))
			k.run(c)
			k.expect(out, 9)
		}
		if after := k.used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
		op, err := driver.NewFree(b)
		k.ok(err)
		_, err = producer.AddFree(op)
		k.expectReason("free node in both graphs", err, driver.CUDA_ERROR_INVALID_VALUE, "another graph")
	})
}

func TestLimitsOfGraphsWithMemoryNodesAreExplained(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		b, a := k.alloc(g)
		n := k.fill(g, b, 1, a)
		k.free(g, b, n)
		k.expectLimits(g, a, n)
	})
}

// The same for a graph whose nodes the library did not make itself.
func TestLimitsOfCapturedGraphsWithMemoryAreExplained(t *testing.T) {
	each(t, func(k *kit) {
		g := k.capture(func(sc *graph.Scope) error {
			b, err := driver.AllocAsync[uint32](sc.Stream(), elems)
			if err != nil {
				return err
			}
			op, err := driver.Fill(b, uint32(3))
			if err == nil {
				err = sc.Do(op)
			}
			return errors.Join(err, b.FreeAsync(sc.Stream()))
		})
		var nodes []graph.Node
		for n, err := range g.Nodes() {
			k.ok(err)
			nodes = append(nodes, n)
		}
		if len(nodes) != 3 {
			t.Fatalf("captured %v", nodes)
		}
		k.expectLimits(g, nodes[0], nodes[1])
	})
}

func (k *kit) expectLimits(g *graph.Graph, from, to graph.Node) {
	k.Helper()
	const no = driver.CUDA_ERROR_NOT_SUPPORTED
	_, err := g.Clone()
	k.expectReason("clone", err, no, "cannot be cloned")
	_, err = k.graph().AddChild(g)
	k.expectReason("child", err, no, "copied into a node")
	k.expectReason("removal of a node", to.Destroy(), no, "can be removed")
	k.expectReason("removal of a dependency", g.RemoveEdges(edgesOf([]graph.Node{from}, []graph.Node{to})...), no, "can be removed")
	x := k.exec(g)
	_, err = g.Instantiate()
	k.expectReason("second exec", err, no, "only one executable graph")
	for range 2 {
		k.run(x)
	}
	k.ok(x.Close())
	k.run(k.exec(g)) // one after the other is fine
}

func TestMemoryNodesRefuseWhatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		b, a := k.alloc(g)
		const bad = driver.CUDA_ERROR_INVALID_VALUE
		pool, err := k.c.NewMemPool()
		k.ok(err)
		k.closeLater(pool)
		pooled, err := driver.NewAlloc[uint32](k.c, pool, elems)
		k.ok(err)
		_, _, err = graph.AddAlloc(g, pooled)
		k.expectReason("pool", err, bad, "memory for graphs only")
		_, _, err = graph.AddAlloc[uint32](g, nil)
		k.expectReason("nil allocation", err, bad, "nil")
		_, err = g.AddFree(nil)
		k.expectReason("nil free", err, bad, "nil")
		ordered, err := driver.AllocAsync[uint32](k.s, elems)
		k.ok(err)
		k.closeLater(ordered)
		op, err := driver.NewFree(ordered)
		k.ok(err)
		_, err = g.AddFree(op)
		k.expectReason("free of a stream's memory", err, bad, "not memory of an allocation node")
		op, err = driver.NewFree(b)
		k.ok(err)
		if _, err = g.AddFree(op, graph.Node{}); !errors.Is(err, bad) {
			t.Errorf("no node to depend on: %v", err)
		}
		k.free(g, b, a)
		_, err = g.AddFree(op, a)
		k.expectReason("second free", err, bad, "already")
		_, err = k.graph().AddFree(op)
		k.expectReason("free in another graph too", err, bad, "another graph")
		k.expectReason("free outside", k.s.FreeGraphMemory(b), bad)
		k.expectReason("free of other memory", k.s.FreeGraphMemory(ordered), bad, "allocation node")
		k.run(k.exec(g))
	})
}

func TestMemoryNodesOfClosedThings(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		b, a := k.alloc(g)
		op, err := driver.NewFree(b)
		k.ok(err)
		k.ok(b.Close())
		if _, err := g.AddFree(op, a); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("free of a closed buffer: %v", err)
		}
		x := k.exec(g)
		k.run(x)
		k.ok(g.Close())
		alloc, err := driver.NewAlloc[uint32](k.c, nil, elems)
		k.ok(err)
		if _, _, err := graph.AddAlloc(g, alloc); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed graph: %v", err)
		}
		if _, _, err := graph.AddAlloc(nil, alloc); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil graph: %v", err)
		}
	})
}

func TestNoElementsAreNoAllocation(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		op, err := driver.NewAlloc[uint32](k.c, nil, 0)
		k.ok(err)
		b, n, err := graph.AddAlloc(g, op)
		k.ok(err)
		k.closeLater(b)
		if b.Ptr() != 0 || b.Len() != 0 {
			t.Errorf("got %v at %#x", b, b.Ptr())
		}
		typ, err := n.Type()
		k.ok(err)
		if typ != cu.CU_GRAPH_NODE_TYPE_EMPTY {
			t.Errorf("the node is %v", typ)
		}
		k.free(g, b, n)
		x := k.exec(g)
		k.run(x)
		k.run(x)
		k.ok(k.s.FreeGraphMemory(b))
	})
}

func TestMemoryNodesOfAnotherDriverAreRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	op, err := driver.NewAlloc[uint32](other.c, nil, elems)
	k.ok(err)
	if _, _, err := graph.AddAlloc(k.graph(), op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("got %v", err)
	}
}
