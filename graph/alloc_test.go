package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) free(g *graph.Graph, b *driver.Buffer[uint32], deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.NewFree(b)
	k.OK(err)
	n, err := g.AddFree(op, deps...)
	k.OK(err)
	return n
}

func TestGraphAllocatesUsesAndFrees(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		out := k.Memory()
		g := k.Graph()
		tmp, a := k.Alloc(g)
		if tmp.Ptr() == 0 || tmp.Len() != elems {
			t.Fatalf("the node gave %v", tmp)
		}
		n := k.Fill(g, tmp, 20, a)
		n = k.Add(g, k.Launch(k.Plus, tmp, 1), n)
		n = k.Add(g, k.Launch(k.Times, tmp, 2), n)
		n = k.CopyNode(g, out, tmp, n)
		f := k.free(g, tmp, n)
		x := k.Exec(g)
		for range 3 {
			k.OK(out.Fill(0))
			k.Run(x)
			k.Expect(out, 42)
		}
		p, err := graph.ParamsOf[cu.CUDA_MEM_ALLOC_NODE_PARAMS](a)
		k.OK(err)
		if p.Dptr != tmp.Ptr() || p.Bytesize < elems*4 {
			t.Errorf("allocation node: %+v", p)
		}
		ptr, err := graph.ParamsOf[driver.CUdeviceptr](f)
		k.OK(err)
		if ptr != tmp.Ptr() {
			t.Errorf("free node: %#x, want %#x", ptr, tmp.Ptr())
		}
		if _, err := graph.ParamsOf[cu.CUDA_MEM_ALLOC_NODE_PARAMS](f); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("allocation parameters of a free node: %v", err)
		}
		// The launches must not leave memory allocated while the exec is open.
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used after the launches, %d before", after, before)
		}
	})
}

// A launch leaves memory allocated, which the program then owns and frees. The next launch must
// allocate at the same address.
func TestGraphOutputIsGivenBackBeforeTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		g, b := k.Leaving(7)
		x := k.Exec(g)
		if k.S.FreeGraphMemory(b) == nil {
			t.Error("what no launch allocated was freed")
		}
		for range 3 {
			k.Run(x)
			k.Expect(b, 7)
			if k.Used() == before {
				t.Error("the output does not count as used")
			}
			k.ExpectReason("second launch", x.Launch(k.S), driver.CUDA_ERROR_INVALID_VALUE, "left graph memory", "WithAutoFree")
			k.OK(k.S.FreeGraphMemory(b))
		}
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used after all was freed, %d before", after, before)
		}
		k.Run(x) // the cleanup must free this output
	})
}

// With AUTO_FREE_ON_LAUNCH, an output is valid until the next launch. The last output is freed once
// the exec, the graph and the buffer are all closed.
func TestAutoFreeKeepsAnOutputUntilTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		g, err := graph.New(k.C)
		k.OK(err)
		op, err := driver.NewAlloc[uint32](k.C, nil, elems)
		k.OK(err)
		b, n, err := graph.AddAlloc(g, op)
		k.OK(err)
		value := scalarOf(k, uint32(0))
		n = k.Fill(g, b, 5, n)
		sum, err := k.Sum.Prepare(config, b.View(0, 1), b.View(0, 1), value, uint32(1))
		k.OK(err)
		k.Add(g, sum, n)
		x, err := g.Instantiate(graph.WithAutoFree())
		k.OK(err)
		var high uint64
		for i := range uint32(20) {
			k.OK(value.Set(k.S, i))
			k.Run(x)
			if got := fetch(k, b)[0]; got != 5+i {
				t.Fatalf("launch %d left %d", i, got)
			}
			if i == 0 {
				high = k.Used()
			}
		}
		if now := k.Used(); now != high || now == before {
			t.Errorf("%d bytes are used after 20 launches, %d after one, %d before", now, high, before)
		}
		k.OK(x.Close())
		k.OK(g.Close())
		if got := fetch(k, b)[0]; got != 24 { // the program must still own the output
			t.Errorf("after the exec was closed the output is %d", got)
		}
		k.OK(b.Close())
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used after all was closed, %d before", after, before)
		}
	})
}

// If the buffer is closed first, its memory must be freed when the last graph or exec that uses it
// is closed.
func TestGraphMemoryIsFreedWithTheLastReference(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		g, b := k.Leaving(7)
		out := k.Memory()
		n, err := driver.CopyDevice[uint32](out, b)
		k.OK(err)
		use := k.Graph()
		k.Add(use, n)
		x, y := k.Exec(g), k.Exec(use)
		k.Run(x)
		k.OK(b.Close())
		k.OK(g.Close())
		k.OK(x.Close())
		k.OK(use.Close())
		k.Run(y)
		k.Expect(out, 7)
		k.OK(y.Close())
		inflight.Waiting.Wait()
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used after all was closed, %d before", after, before)
		}
	})
}

func TestBufferFreeAsyncClosesAndFreesAGraphsMemory(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		g, b := k.Leaving(7)
		x := k.Exec(g)
		k.Run(x)
		k.OK(b.FreeAsync(k.S))
		if err := b.FreeAsync(k.S); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("second free: %v", err)
		}
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
		k.Run(x) // the exec still allocates for its own nodes
	})
}

func TestAnotherGraphFreesTheMemory(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		out := k.Memory()
		producer, b := k.Leaving(9)
		consumer := k.Graph()
		k.free(consumer, b, k.CopyNode(consumer, out, b))
		p, c := k.Exec(producer), k.Exec(consumer)
		k.ExpectReason("free before the allocation", c.Launch(k.S), driver.CUDA_ERROR_INVALID_VALUE, "no launch has allocated")
		for range 3 {
			k.OK(out.Fill(0))
			k.OK(p.Launch(k.S))
			k.Run(c)
			k.Expect(out, 9)
		}
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
		op, err := driver.NewFree(b)
		k.OK(err)
		_, err = producer.AddFree(op)
		k.ExpectReason("free node in both graphs", err, driver.CUDA_ERROR_INVALID_VALUE, "another graph")
	})
}

func TestLimitsOfGraphsWithMemoryNodesAreExplained(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		b, a := k.Alloc(g)
		n := k.Fill(g, b, 1, a)
		k.free(g, b, n)
		k.expectLimits(g, a, n)
	})
}

func TestLimitsOfCapturedGraphsWithMemoryAreExplained(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Capture(func(sc *graph.Scope) error {
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
			k.OK(err)
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
	k.ExpectReason("clone", err, no, "cannot be cloned")
	_, err = k.Graph().AddChild(g)
	k.ExpectReason("child", err, no, "copied into a node")
	k.ExpectReason("removal of a node", to.Destroy(), no, "can be removed")
	k.ExpectReason("removal of a dependency", g.RemoveEdges(graphtest.EdgesOf([]graph.Node{from}, []graph.Node{to})...), no, "can be removed")
	x := k.Exec(g)
	_, err = g.Instantiate()
	k.ExpectReason("second exec", err, no, "only one executable graph")
	for range 2 {
		k.Run(x)
	}
	k.OK(x.Close())
	k.Run(k.Exec(g)) // execs may be launched one after the other
}

func TestMemoryNodesRefuseWhatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		b, a := k.Alloc(g)
		const bad = driver.CUDA_ERROR_INVALID_VALUE
		pool, err := k.C.NewMemPool()
		k.OK(err)
		k.CloseLater(pool)
		pooled, err := driver.NewAlloc[uint32](k.C, pool, elems)
		k.OK(err)
		_, _, err = graph.AddAlloc(g, pooled)
		k.ExpectReason("pool", err, bad, "only from the device's memory for graphs")
		_, _, err = graph.AddAlloc[uint32](g, nil)
		k.ExpectReason("nil allocation", err, bad, "nil")
		_, err = g.AddFree(nil)
		k.ExpectReason("nil free", err, bad, "nil")
		ordered, err := driver.AllocAsync[uint32](k.S, elems)
		k.OK(err)
		k.CloseLater(ordered)
		op, err := driver.NewFree(ordered)
		k.OK(err)
		_, err = g.AddFree(op)
		k.ExpectReason("free of a stream's memory", err, bad, "not memory of an allocation node")
		op, err = driver.NewFree(b)
		k.OK(err)
		if _, err = g.AddFree(op, graph.Node{}); !errors.Is(err, bad) {
			t.Errorf("no node to depend on: %v", err)
		}
		k.free(g, b, a)
		_, err = g.AddFree(op, a)
		k.ExpectReason("second free", err, bad, "already")
		_, err = k.Graph().AddFree(op)
		k.ExpectReason("free in another graph too", err, bad, "another graph")
		k.ExpectReason("free outside", k.S.FreeGraphMemory(b), bad)
		k.ExpectReason("free of other memory", k.S.FreeGraphMemory(ordered), bad, "allocation node")
		k.Run(k.Exec(g))
	})
}

func TestMemoryNodesOfClosedThings(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		b, a := k.Alloc(g)
		op, err := driver.NewFree(b)
		k.OK(err)
		k.OK(b.Close())
		if _, err := g.AddFree(op, a); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("free of a closed buffer: %v", err)
		}
		x := k.Exec(g)
		k.Run(x)
		k.OK(g.Close())
		alloc, err := driver.NewAlloc[uint32](k.C, nil, elems)
		k.OK(err)
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
		g := k.Graph()
		op, err := driver.NewAlloc[uint32](k.C, nil, 0)
		k.OK(err)
		b, n, err := graph.AddAlloc(g, op)
		k.OK(err)
		k.CloseLater(b)
		if b.Ptr() != 0 || b.Len() != 0 {
			t.Errorf("got %v at %#x", b, b.Ptr())
		}
		typ, err := n.Type()
		k.OK(err)
		if typ != cu.CU_GRAPH_NODE_TYPE_EMPTY {
			t.Errorf("the node is %v", typ)
		}
		k.free(g, b, n)
		x := k.Exec(g)
		k.Run(x)
		k.Run(x)
		k.OK(k.S.FreeGraphMemory(b))
	})
}

func TestMemoryNodesOfAnotherDriverAreRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	op, err := driver.NewAlloc[uint32](other.C, nil, elems)
	k.OK(err)
	if _, _, err := graph.AddAlloc(k.Graph(), op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("got %v", err)
	}
}
