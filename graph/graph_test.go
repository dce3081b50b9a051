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
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// A graph built node by node computes a+2 and b*7 concurrently, then d = a+b. A capture must
// produce the same results.
func TestGraphByHandGivesTheResultsOfACapture(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.Memory(), k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
		k.OK(err)
		g := k.Graph()
		left := k.Add(g, k.Launch(k.Plus, a, 2))
		right := k.Add(g, k.Launch(k.Times, b, 7))
		k.Add(g, sum, left, right)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(d, 10)
		k.Run(x)
		k.Expect(d, 54)
	})
}

func TestDependenciesOrderNodes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := []graph.Node{}
		for i := range 20 { // ((1+1)*3+1)*3 …: any other order changes the result
			op := k.Launch(k.Plus, b, 1)
			if i%2 == 1 {
				op = k.Launch(k.Times, b, 3)
			}
			n = append(n, k.Add(g, op, n[max(0, i-1):]...))
		}
		want := uint32(1)
		for i := range 20 {
			if i%2 == 0 {
				want++
			} else {
				want *= 3
			}
		}
		k.Run(k.Exec(g))
		k.Expect(b, want)
	})
}

func TestNodesOfEverySort(t *testing.T) {
	each(t, func(k *kit) {
		b, out := k.Memory(), k.Memory()
		host, err := driver.AllocHost[uint32](k.C, elems)
		k.OK(err)
		k.CloseLater(host)
		event, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(event)
		fill, err := driver.Fill[uint32](b, 4)
		k.OK(err)
		copyOut, err := driver.CopyDevice[uint32](out, b)
		k.OK(err)
		download, err := driver.Download[uint32](host, out)
		k.OK(err)
		called := make(chan struct{}, 1)
		call, err := driver.NewHostFunc(k.C, func() { called <- struct{}{} })
		k.OK(err)

		g := k.Graph()
		n := k.Add(g, fill)
		n = k.Add(g, k.Launch(k.Plus, b, 5), n)
		n = k.Add(g, copyOut, n)
		n = k.Add(g, driver.RecordOp(event), n)
		n = k.Add(g, driver.WaitOp(event), n)
		n = k.Add(g, download, n)
		n, err = g.AddEmpty(n)
		k.OK(err)
		k.Add(g, call, n)
		k.Types(g, []graph.Type{
			cu.CU_GRAPH_NODE_TYPE_MEMSET, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD, cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT, cu.CU_GRAPH_NODE_TYPE_MEMCPY,
			cu.CU_GRAPH_NODE_TYPE_EMPTY, cu.CU_GRAPH_NODE_TYPE_HOST,
		})
		k.Run(k.Exec(g))
		k.Expect(out, 9)
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

func TestWalks(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		a, err := g.AddEmpty()
		k.OK(err)
		b, err := g.AddEmpty()
		k.OK(err)
		c, err := g.AddEmpty(a, b)
		k.OK(err)
		var roots []graph.Node
		for n, err := range g.Roots() {
			k.OK(err)
			roots = append(roots, n)
		}
		if len(roots) != 2 || !slices.Contains(roots, a) || !slices.Contains(roots, b) {
			k.Errorf("roots %v, want %v", roots, []graph.Node{a, b})
		}
		edges := map[[2]graph.Node]bool{}
		for e, err := range g.Edges() {
			k.OK(err)
			edges[[2]graph.Node{e.From, e.To}] = true
		}
		if len(edges) != 2 || !edges[[2]graph.Node{a, c}] || !edges[[2]graph.Node{b, c}] {
			k.Errorf("edges %v", edges)
		}
		deps, err := c.Dependencies()
		k.OK(err)
		if len(deps) != 2 {
			k.Errorf("dependencies %v", deps)
		}
		next, err := a.Dependents()
		k.OK(err)
		if !slices.Equal(next, []graph.Node{c}) {
			k.Errorf("dependents %v", next)
		}
		k.OK(g.RemoveEdges(graphtest.EdgesOf([]graph.Node{a}, []graph.Node{c})...))
		k.OK(graphtest.DependOn(b, a))
		deps, err = c.Dependencies()
		k.OK(err)
		if !slices.Equal(deps, []graph.Node{b}) {
			k.Errorf("dependencies %v, want only b", deps)
		}
	})
}

func TestDestroyedNodesAreGone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		a := k.Add(g, k.Launch(k.Plus, b, 1))
		z := k.Add(g, k.Launch(k.Times, b, 10), a)
		k.OK(a.Destroy())
		if err := a.Destroy(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("second Destroy: %v", err)
		}
		if _, err := g.AddEmpty(a); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a destroyed node as a dependency: %v", err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 10)
		if typ, err := z.Type(); typ != cu.CU_GRAPH_NODE_TYPE_KERNEL || err != nil {
			k.Errorf("%v, %v", typ, err)
		}
	})
}

func TestCloneIsIndependent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		c, err := g.Clone()
		k.OK(err)
		k.CloseLater(c)
		m, err := n.FindInClone(c)
		k.OK(err)
		if m.Graph() != c || m == n {
			k.Errorf("found %v of %v", m, m.Graph())
		}
		k.OK(m.Set(k.Launch(k.Plus, b, 100)))
		k.OK(g.Close())
		k.Run(k.Exec(c))
		k.Expect(b, 101)
	})
}

func TestChildGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		child := k.Graph()
		inner := k.Add(child, k.Launch(k.Plus, b, 4))
		k.Add(child, k.Launch(k.Times, b, 3), inner)
		g := k.Graph()
		first, err := g.AddChild(child)
		k.OK(err)
		_, err = g.AddChild(child, first)
		k.OK(err)
		k.OK(child.Close())
		k.Run(k.Exec(g))
		k.Expect(b, 57)
		part, err := first.ChildGraph()
		k.OK(err)
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
		b := k.Memory()
		child := func(v uint32) *graph.Graph {
			c := k.Graph()
			k.Add(c, k.Launch(k.Plus, b, v))
			return c
		}
		g := k.Graph()
		n, err := g.AddChild(child(1))
		k.OK(err)
		x := k.Exec(g)
		k.OK(x.SetChild(n, child(50)))
		k.Run(x)
		k.Expect(b, 51)
	})
}

func TestNames(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		n, err := g.AddEmpty()
		k.OK(err)
		k.OK(n.SetName("gate"))
		if n.Name() != "gate" || !strings.Contains(n.String(), "gate") {
			k.Errorf("%q, %v", n.Name(), n)
		}
	})
}

func TestDriverDOT(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		text, err := g.DriverDOT(cu.CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)
		k.OK(err)
		if !strings.Contains(string(text), "digraph") {
			k.Errorf("no drawing: %q", text)
		}
	})
}

func TestBadInputToGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		op := k.Launch(k.Plus, b, 1)
		g, other := k.Graph(), k.Graph()
		n := k.Add(g, op)
		foreign := k.Add(other, op)
		closed, err := graph.New(k.C)
		k.OK(err)
		k.OK(closed.Close())
		k.OK(closed.Close())
		var none *graph.Graph
		k.OK(none.Close())
		gone := k.MemoryOf(1)
		dead := k.Launch(k.Plus, gone, 1)
		k.OK(gone.Close())
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
			{"edge to itself", driver.CUDA_ERROR_INVALID_VALUE, func() error { return graphtest.DependOn(n, n) }},
			{"edge to the zero node", driver.CUDA_ERROR_INVALID_VALUE, func() error { return g.AddEdges(graph.Edge{From: n}) }},
		}
		for _, c := range cases {
			if err := c.err(); !errors.Is(err, c.want) {
				k.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		fill, err := driver.Fill(b, 1)
		k.OK(err)
		if _, err := g.Add(fill, foreign); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), other.String()) {
			k.Errorf("a fill after a node of %v: %v", other, err)
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
	})
}

func TestACycleIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		a, err := g.AddEmpty()
		k.OK(err)
		b, err := g.AddEmpty(a)
		k.OK(err)
		err = graphtest.DependOn(a, b)
		if err == nil { // the driver detects cycles at instantiation
			var x *graph.Exec
			x, err = g.Instantiate()
			k.OK(x.Close())
		}
		if err == nil {
			k.Error("a cycle was instantiated")
		}
	})
}

func TestDroppedGraphsAreReclaimed(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		k := newKit(t, gputest.Context(t, d))
		b := k.Memory()
		func() {
			g, err := graph.New(k.C)
			k.OK(err)
			k.Add(g, k.Launch(k.Plus, b, 1))
			x, err := g.Instantiate()
			k.OK(err)
			k.Run(x)
		}()
		gputest.ExpectDropped(t, d, 2)
		k.Expect(b, 2)
	})
}

// The graph must keep alive buffers to which the program has dropped all references.
func TestGraphKeepsDroppedBuffers(t *testing.T) {
	each(t, func(k *kit) {
		out := k.Memory()
		g := k.Graph()
		dropped := 0
		var last graph.Node
		for i := range 8 {
			add := k.MemoryOf(uint32(10 * (i + 1)))
			sum, err := k.Sum.Prepare(config, out, out, add, uint32(elems))
			k.OK(err)
			if last.IsZero() {
				last = k.Add(g, sum)
			} else {
				last = k.Add(g, sum, last)
			}
			k.OK(add.Close())
			dropped++
		}
		for range 3 {
			runtime.GC()
			k.CloseLater(k.MemoryOf(77777)) // would reuse memory that was freed too early
		}
		x := k.Exec(g)
		k.OK(g.Close())
		k.Run(x)
		k.Expect(out, 361)
	})
}

func TestTwoGoroutinesOnOneGraphTakeTurns(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		const each, goroutines = 50, 4
		done := make(chan error, goroutines)
		for range goroutines {
			op := k.Launch(k.Plus, b, 0)
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
			k.OK(<-done)
		}
		if n, err := g.Len(); n != each*goroutines || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

func TestRecordChoosesByHandWhereItCannotCapture(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		ops := []driver.Op{k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 6)}
		if _, err := graphtest.Recorded(k.C.LegacyStream(), ops...); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) && !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
			k.Errorf("capture of the legacy stream: %v", err)
		}
		for _, byHand := range []bool{false, true} {
			k.OK(b.Fill(1))
			g, err := graphtest.Recorded(k.S, ops...)
			if byHand {
				k.OK(errors.Join(err, g.Close()))
				g, err = graphtest.Sequence(k.C, ops...)
			}
			k.OK(err)
			k.CloseLater(g)
			k.Run(k.Exec(g))
			k.Expect(b, 12)
		}
	})
}

var background = context.Background()

// The error for a rejected operation must name it. The graph, its executable graph and the context
// must still work.
func TestRefusedOperationsAreNamedAndLeaveTheGraphUsable(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(1)
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		dead := k.Launch(k.Plus, gone, 1)
		copyOfGone, err := driver.CopyDevice(b, gone)
		k.OK(err)
		fillOfGone, err := driver.Fill(gone, 1)
		k.OK(err)
		k.OK(gone.Close())
		other := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := driver.Alloc[uint32](other, 1)
		k.OK(err)
		k.CloseLater(far)
		foreign, err := driver.Fill(far, 1)
		k.OK(err)
		event, err := other.NewEvent()
		k.OK(err)
		k.CloseLater(event)
		shut, err := k.C.NewEvent()
		k.OK(err)
		k.OK(shut.Close())
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
				"added": graphtest.Second(g.Add(c.op)), "set": n.Set(c.op), "set in the executable": x.Set(n, c.op),
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
		k.Run(x)
		k.Expect(b, 2)
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}

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
