package graph_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// diamond builds (b+2 | c*7) → d = b+c with the given way to add nodes.
func TestGraphByHandGivesTheResultsOfACapture(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.memory(), k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
		k.ok(err)
		g := k.graph()
		left := k.add(g, k.launch(k.plus, a, 2))
		right := k.add(g, k.launch(k.times, b, 7))
		k.add(g, sum, left, right)
		x := k.exec(g)
		k.run(x)
		k.expect(d, 10)
		k.run(x)
		k.expect(d, 54)
	})
}

func TestDependenciesOrderNodes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := []graph.Node{}
		for i := range 20 { // ((1+1)*3+1)*3 …: any other order differs
			op := k.launch(k.plus, b, 1)
			if i%2 == 1 {
				op = k.launch(k.times, b, 3)
			}
			n = append(n, k.add(g, op, n[max(0, i-1):]...))
		}
		want := uint32(1)
		for i := range 20 {
			if i%2 == 0 {
				want++
			} else {
				want *= 3
			}
		}
		k.run(k.exec(g))
		k.expect(b, want)
	})
}

func TestNodesOfEverySort(t *testing.T) {
	each(t, func(k *kit) {
		b, out := k.memory(), k.memory()
		host, err := driver.AllocHost[uint32](k.c, elems)
		k.ok(err)
		k.closeLater(host)
		event, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(event)
		fill, err := driver.Fill[uint32](b, 4)
		k.ok(err)
		copyOut, err := driver.CopyDevice[uint32](out, b)
		k.ok(err)
		download, err := driver.Download[uint32](host, out)
		k.ok(err)
		called := make(chan struct{}, 1)
		call, err := driver.NewHostFunc(k.c, func() { called <- struct{}{} })
		k.ok(err)

		g := k.graph()
		n := k.add(g, fill)
		n = k.add(g, k.launch(k.plus, b, 5), n)
		n = k.add(g, copyOut, n)
		n = k.add(g, driver.RecordOp(event), n)
		n = k.add(g, driver.WaitOp(event), n)
		n = k.add(g, download, n)
		n, err = g.AddEmpty(n)
		k.ok(err)
		k.add(g, call, n)
		k.types(g, []graph.Type{
			cu.CU_GRAPH_NODE_TYPE_MEMSET, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD, cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_EMPTY, cu.CU_GRAPH_NODE_TYPE_HOST,
		})
		k.run(k.exec(g))
		k.expect(out, 9)
		if got := host.Slice()[elems-1]; got != 9 {
			k.Errorf("downloaded %d, want 9", got)
		}
		select {
		case <-called:
		default:
			k.Error("the host function was not called")
		}
	})
}

func (k *kit) types(g *graph.Graph, want []graph.Type) {
	k.Helper()
	var got []graph.Type
	for n, err := range g.Nodes() {
		k.ok(err)
		typ, err := n.Type()
		k.ok(err)
		got = append(got, typ)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		k.Errorf("types %v, want %v", got, want)
	}
}

func TestWalks(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a, err := g.AddEmpty()
		k.ok(err)
		b, err := g.AddEmpty()
		k.ok(err)
		c, err := g.AddEmpty(a, b)
		k.ok(err)
		var roots []graph.Node
		for n, err := range g.Roots() {
			k.ok(err)
			roots = append(roots, n)
		}
		if len(roots) != 2 || !slices.Contains(roots, a) || !slices.Contains(roots, b) {
			k.Errorf("roots %v, want %v", roots, []graph.Node{a, b})
		}
		edges := map[[2]graph.Node]bool{}
		for e, err := range g.Edges() {
			k.ok(err)
			edges[[2]graph.Node{e.From, e.To}] = true
		}
		if len(edges) != 2 || !edges[[2]graph.Node{a, c}] || !edges[[2]graph.Node{b, c}] {
			k.Errorf("edges %v", edges)
		}
		deps, err := c.Dependencies()
		k.ok(err)
		if len(deps) != 2 {
			k.Errorf("dependencies %v", deps)
		}
		next, err := a.Dependents()
		k.ok(err)
		if !slices.Equal(next, []graph.Node{c}) {
			k.Errorf("dependents %v", next)
		}
		k.ok(g.RemoveEdges(edgesOf([]graph.Node{a}, []graph.Node{c})...))
		k.ok(dependOn(b, a))
		deps, err = c.Dependencies()
		k.ok(err)
		if !slices.Equal(deps, []graph.Node{b}) {
			k.Errorf("dependencies %v, want only b", deps)
		}
	})
}

func TestDestroyedNodesAreGone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		a := k.add(g, k.launch(k.plus, b, 1))
		z := k.add(g, k.launch(k.times, b, 10), a)
		k.ok(a.Destroy())
		if err := a.Destroy(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("second Destroy: %v", err)
		}
		if _, err := g.AddEmpty(a); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a destroyed node as a dependency: %v", err)
		}
		k.run(k.exec(g))
		k.expect(b, 10)
		if typ, err := z.Type(); typ != cu.CU_GRAPH_NODE_TYPE_KERNEL || err != nil {
			k.Errorf("%v, %v", typ, err)
		}
	})
}

func TestCloneIsIndependent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		c, err := g.Clone()
		k.ok(err)
		k.closeLater(c)
		m, err := n.FindInClone(c)
		k.ok(err)
		if m.Graph() != c || m == n {
			k.Errorf("found %v of %v", m, m.Graph())
		}
		k.ok(m.Set(k.launch(k.plus, b, 100)))
		k.ok(g.Close())
		k.run(k.exec(c))
		k.expect(b, 101)
	})
}

func TestChildGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		child := k.graph()
		inner := k.add(child, k.launch(k.plus, b, 4))
		k.add(child, k.launch(k.times, b, 3), inner)
		g := k.graph()
		first, err := g.AddChild(child)
		k.ok(err)
		_, err = g.AddChild(child, first)
		k.ok(err)
		k.ok(child.Close())
		k.run(k.exec(g))
		k.expect(b, 57)
		part, err := first.ChildGraph()
		k.ok(err)
		if n, err := part.Len(); n != 2 || err != nil {
			k.Errorf("%d nodes inside, %v", n, err)
		}
		if _, err := g.AddChild(part); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a graph in itself: %v", err)
		}
	})
}

func TestSetChildReplacesTheGraphInANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		child := func(v uint32) *graph.Graph {
			c := k.graph()
			k.add(c, k.launch(k.plus, b, v))
			return c
		}
		g := k.graph()
		n, err := g.AddChild(child(1))
		k.ok(err)
		x := k.exec(g)
		k.ok(x.SetChild(n, child(50)))
		k.run(x)
		k.expect(b, 51)
	})
}

func TestNames(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		n, err := g.AddEmpty()
		k.ok(err)
		k.ok(n.SetName("gate"))
		if n.Name() != "gate" || !strings.Contains(n.String(), "gate") {
			k.Errorf("%q, %v", n.Name(), n)
		}
	})
}

func TestDriverDOT(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		text, err := g.DriverDOT(cu.CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)
		k.ok(err)
		if !strings.Contains(string(text), "digraph") {
			k.Errorf("no drawing: %q", text)
		}
	})
}

func TestBadInputToGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		op := k.launch(k.plus, b, 1)
		g, other := k.graph(), k.graph()
		n := k.add(g, op)
		foreign := k.add(other, op)
		closed, err := graph.New(k.c)
		k.ok(err)
		k.ok(closed.Close())
		k.ok(closed.Close())
		var none *graph.Graph
		k.ok(none.Close())
		gone := k.memoryOf(1)
		dead := k.launch(k.plus, gone, 1)
		k.ok(gone.Close())
		var noLaunch *driver.Launch
		cases := []struct {
			name string
			want error
			err  func() error
		}{
			{"node of another graph", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := g.Add(op, foreign); return err }},
			{"zero node", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := g.Add(op, graph.Node{}); return err }},
			{"zero node set", driver.CUDA_ERROR_INVALID_VALUE, func() error { return graph.Node{}.Set(op) }},
			{"nil operation", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := g.Add(nil, n); return err }},
			{"nil launch", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := g.Add(noLaunch, n); return err }},
			{"closed memory", driver.ErrClosed, func() error { _, err := g.Add(dead); return err }},
			{"closed memory set", driver.ErrClosed, func() error { return n.Set(dead) }},
			{"closed graph", driver.ErrClosed, func() error { _, err := closed.Add(op); return err }},
			{"nil graph", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := none.Add(op); return err }},
			{"closed graph instantiated", driver.ErrClosed, func() error { _, err := closed.Instantiate(); return err }},
			{"closed child", driver.ErrClosed, func() error { _, err := g.AddChild(closed); return err }},
			{"itself as child", driver.CUDA_ERROR_INVALID_VALUE, func() error { _, err := g.AddChild(g); return err }},
			{"edge to itself", driver.CUDA_ERROR_INVALID_VALUE, func() error { return dependOn(n, n) }},
			{"edge to the zero node", driver.CUDA_ERROR_INVALID_VALUE, func() error { return g.AddEdges(graph.Edge{From: n}) }},
		}
		for _, c := range cases {
			if err := c.err(); !errors.Is(err, c.want) {
				k.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
	})
}

func TestACycleIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a, err := g.AddEmpty()
		k.ok(err)
		b, err := g.AddEmpty(a)
		k.ok(err)
		err = dependOn(a, b)
		if err == nil { // the driver looks for cycles when it instantiates
			var x *graph.Exec
			x, err = g.Instantiate()
			k.ok(x.Close())
		}
		if err == nil {
			k.Error("a cycle was instantiated")
		}
	})
}

func TestDroppedGraphsAreReclaimed(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		k := newKit(t, gputest.Context(t, d))
		b := k.memory()
		func() {
			g, err := graph.New(k.c)
			k.ok(err)
			k.add(g, k.launch(k.plus, b, 1))
			x, err := g.Instantiate()
			k.ok(err)
			k.run(x)
		}()
		gputest.ExpectDropped(t, d, 2)
		k.expect(b, 2)
	})
}

// The graph is the only one that still refers to its buffers.
func TestGraphKeepsDroppedBuffers(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		g := k.graph()
		dropped := 0
		var last graph.Node
		for i := range 8 {
			add := k.memoryOf(uint32(10 * (i + 1)))
			sum, err := k.sum.Prepare(config, out, out, add, uint32(elems))
			k.ok(err)
			if last.IsZero() {
				last = k.add(g, sum)
			} else {
				last = k.add(g, sum, last)
			}
			k.ok(add.Close())
			dropped++
		}
		for range 3 {
			runtime.GC()
			k.closeLater(k.memoryOf(77777)) // takes what was freed, if anything was
		}
		x := k.exec(g)
		k.ok(g.Close())
		k.run(x)
		k.expect(out, 361)
	})
}

func TestTwoGoroutinesOnOneGraphTakeTurns(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		const each, goroutines = 50, 4
		done := make(chan error, goroutines)
		for range goroutines {
			op := k.launch(k.plus, b, 0)
			go func() {
				for range each {
					n, err := g.Add(op)
					if err == nil {
						err = n.Set(op)
					}
					if err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range goroutines {
			k.ok(<-done)
		}
		if n, err := g.Len(); n != each*goroutines || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

func TestRecordChoosesByHandWhereItCannotCapture(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		ops := []driver.Op{k.launch(k.plus, b, 1), k.launch(k.times, b, 6)}
		if _, err := graphOf(k.c.LegacyStream(), ops...); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) && !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
			k.Errorf("capture of the legacy stream: %v", err)
		}
		for _, byHand := range []bool{false, true} {
			k.ok(b.Fill(1))
			g, err := graphOf(k.s, ops...)
			if byHand {
				k.ok(errors.Join(err, g.Close()))
				g, err = sequence(k.c, ops...)
			}
			k.ok(err)
			k.closeLater(g)
			k.run(k.exec(g))
			k.expect(b, 12)
		}
	})
}

var background = context.Background()

// A refused operation is named in the error, and the graph, its executable form
// and the context work as before.
func TestRefusedOperationsAreNamedAndLeaveTheGraphUsable(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(1)
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		dead := k.launch(k.plus, gone, 1)
		copyOfGone, err := driver.CopyDevice(b, gone)
		k.ok(err)
		fillOfGone, err := driver.Fill(gone, 1)
		k.ok(err)
		k.ok(gone.Close())
		other := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := driver.Alloc[uint32](other, 1)
		k.ok(err)
		k.closeLater(far)
		foreign, err := driver.Fill(far, 1)
		k.ok(err)
		event, err := other.NewEvent()
		k.ok(err)
		k.closeLater(event)
		shut, err := k.c.NewEvent()
		k.ok(err)
		k.ok(shut.Close())
		for _, c := range []struct {
			op    driver.Op
			want  error
			words string
		}{
			{dead, driver.ErrClosed, "kernel plus|buffer of uint32"},
			{copyOfGone, driver.ErrClosed, "device copy|buffer of uint32"},
			{fillOfGone, driver.ErrClosed, "fill|buffer of uint32"},
			{foreign, driver.CUDA_ERROR_INVALID_VALUE, "fill|another driver"},
			{driver.WaitOp(event), driver.CUDA_ERROR_INVALID_VALUE, "event|another driver"},
			{driver.RecordOp(shut), driver.ErrClosed, "event"},
			{driver.RecordOp(nil), driver.CUDA_ERROR_INVALID_VALUE, "event"},
			{(*driver.CopyOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "copy"},
			{(*driver.FillOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "fill"},
			{(*driver.HostFunc)(nil), driver.CUDA_ERROR_INVALID_VALUE, "host function"},
			{(*driver.MemOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "memory operation"},
			{(*driver.EventOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "event operation"},
		} {
			for how, err := range map[string]error{
				"added": second(g.Add(c.op)), "set": n.Set(c.op), "set in the executable": x.Set(n, c.op),
			} {
				if how == "added" && !errors.Is(err, c.want) {
					k.Errorf("%v %s: %v, want %v", c.op, how, err, c.want)
				}
				if err == nil {
					k.Errorf("%v %s: no error", c.op, how)
					continue
				}
				for _, word := range strings.Split(c.words, "|") {
					if how == "added" && !strings.Contains(err.Error(), word) {
						k.Errorf("%v %s: the error does not say %q: %v", c.op, how, word, err)
					}
				}
			}
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.run(x)
		k.expect(b, 2)
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

func second[T any](_ T, err error) error { return err }

// hiding is a driver without some of its functions.
type hiding struct {
	loader.Library
	symbols []string
}

func (h hiding) Lookup(symbol string) (loader.Proc, error) {
	if slices.Contains(h.symbols, symbol) {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	return h.Library.Lookup(symbol)
}
