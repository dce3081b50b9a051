package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
)

func (k *kit) plan(items ...graph.Item) *graph.Plan {
	k.Helper()
	p, err := graph.NewPlan(k.C, items)
	k.OK(err)
	k.CloseLater(p)
	return p
}

// shape reports, for each pair of indices, whether the first node directly depends on the second.
func (k *kit) shape(nodes []graph.Node) (shape [][]bool) {
	k.Helper()
	at := map[graph.Node]int{}
	for i, n := range nodes {
		at[n] = i
	}
	for _, n := range nodes {
		row := make([]bool, len(nodes))
		deps, err := n.Dependencies()
		k.OK(err)
		for _, d := range deps {
			if i, ok := at[d]; ok {
				row[i] = true
			}
		}
		shape = append(shape, row)
	}
	return shape
}

func TestPlanGivesTheGraphThatABatchGives(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.Memory(), k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
		k.OK(err)
		fill, err := driver.Fill[uint32](a, 3)
		k.OK(err)
		copyOp, err := driver.CopyDevice[uint32](b, a)
		k.OK(err)
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		first := k.Launch(k.Times, k.Memory(), 1)
		cooperative, err := k.Plus.Prepare(driver.LaunchConfig{Grid: config.Grid, Block: config.Block, Cooperative: true}, d, uint32(elems), uint32(5))
		k.OK(err)
		items := []graph.Item{
			{Op: fill},
			{Op: k.Launch(k.Plus, a, 2), After: []int{0}},
			{Op: copyOp, After: []int{1}},
			{Op: host, After: []int{1}},
			{Op: k.Launch(k.Times, b, 7), After: []int{2}},
			{Op: k.Launch(k.Times, a, 2), After: []int{2, 3}},
			{Op: sum, After: []int{5, 3, 4}},
			{Op: cooperative, After: []int{6}},
			{Op: k.Launch(k.Plus, d, 1), After: []int{1, 7}},
			{Op: k.Launch(k.Plus, d, 1), After: []int{8, 0}},
		}
		one, other := k.Graph(), k.Graph()
		k.Add(one, first)
		p := k.plan(items...)
		var planned []graph.Node
		added := k.AddPlan(one, p)
		for i := range added.Len() {
			planned = append(planned, added.At(i))
		}
		batched, err := other.AddBatch(nil, items)
		k.OK(err)
		want, got := k.shape(batched), k.shape(planned)
		for i := range want {
			wantType, err := batched[i].Type()
			k.OK(err)
			gotType, err := planned[i].Type()
			k.OK(err)
			if wantType != gotType {
				k.Errorf("node %d is a %v, in the batch a %v", i, gotType, wantType)
			}
			for j := range want {
				if want[i][j] != got[i][j] {
					k.Errorf("node %d after node %d: %v, in the batch %v", i, j, got[i][j], want[i][j])
				}
			}
		}
		for _, g := range []*graph.Graph{one, other} {
			k.Run(k.Exec(g))
			k.Expect(d, 5*7+5*2+5+1+1)
		}
	})
}

func TestPlanRunsAfterGivenNodes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		plus, times := k.Launch(k.Plus, b, 4), k.Launch(k.Times, b, 3)
		p := k.plan(graph.Item{Op: plus}, graph.Item{Op: times, After: []int{0}})
		g := k.Graph()
		deps := []graph.Node{}
		for range 3 { // first no dependencies, then the previous node
			n := k.AddPlan(g, p, deps...)
			deps = []graph.Node{n.At(1)}
		}
		fill, err := driver.Fill[uint32](b, 2)
		k.OK(err)
		e, err := g.AddEmpty(deps[0])
		k.OK(err)
		x := k.Add(g, fill, e)
		y := k.Add(g, fill, x)
		n := k.AddPlan(g, p, x, y)
		before, err := n.At(0).Dependencies()
		k.OK(err)
		if len(before) != 2 {
			k.Errorf("the first runs after %v", before)
		}
		if before, err = n.At(1).Dependencies(); err != nil || len(before) != 1 || before[0] != n.At(0) {
			k.Errorf("the second runs after %v, %v", before, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, (2+4)*3)
	})
}

func TestPlanAddsTheArgumentsOfTheMoment(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Memory()
		l := k.Launch(k.Plus, b, 1)
		p := k.ChainPlan(l, l, l)
		g := k.Graph()
		k.AddPlan(g, p)
		k.Run(k.Exec(g))
		k.Expect(b, 4)
		k.OK(driver.SetArg(l, 2, uint32(10)))
		second := k.Graph()
		k.AddPlan(second, p)
		k.Run(k.Exec(second))
		k.Expect(b, 34)
		k.OK(driver.SetArg(l, 0, other))
		third := k.Graph()
		k.AddPlan(third, p)
		k.Run(k.Exec(third))
		k.Expect(other, 31)
		k.Expect(b, 34)
		// Items with different attributes need separate calls.
		cfg := config
		cfg.Cooperative = true
		k.OK(l.SetConfig(cfg))
		fourth := k.Graph()
		k.AddPlan(fourth, p)
		k.Run(k.Exec(fourth))
		k.Expect(other, 61)
	})
}

func TestPlanKeepsWhatItsOperationsReferTo(t *testing.T) {
	each(t, func(k *kit) {
		b, next := k.MemoryOf(1), k.MemoryOf(1)
		out := k.Memory()
		l, err := k.Sum.Prepare(config, out, b, b, uint32(elems))
		k.OK(err)
		p, err := graph.NewPlan(k.C, graph.Chain([]driver.Op{l, l}))
		k.OK(err)
		g, err := graph.New(k.C)
		k.OK(err)
		k.AddPlan(g, p)
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(driver.SetArg(l, 1, next))
		k.OK(driver.SetArg(l, 2, next))
		h := k.Graph()
		set := k.AddPlan(h, p)
		life := b.Ref().Lifetime()
		k.OK(b.Close())
		if !names(driver.OpenObjects(), life) {
			k.Error("closed memory of a graph is gone")
		}
		k.Run(x)
		k.Expect(out, 2)
		k.OK(g.Close())
		k.Run(x)
		k.OK(x.Close())
		inflight.Waiting.Wait()
		if names(driver.OpenObjects(), life) {
			k.Error("memory is retained although nothing refers to it")
		}

		// A node that was set must retain its new references, and the plan must still retain its
		// own references.
		y := k.Exec(h)
		third := k.MemoryOf(5)
		m, err := k.Sum.Prepare(config, out, third, third, uint32(elems))
		k.OK(err)
		k.OK(y.Set(set.At(1), m))
		k.OK(set.At(0).Set(l))
		k.OK(third.Close())
		k.Run(y)
		k.Expect(out, 10)

		// AddPlan must reject a plan whose operation uses closed memory, and accept it once the
		// operation uses open memory.
		k.OK(next.Close())
		_, err = h.AddPlan(p)
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "item 0") {
			k.Errorf("closed memory was added: %v", err)
		}
		if n, err := h.Len(); n != 2 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
		k.OK(driver.SetArg(l, 1, out))
		k.OK(driver.SetArg(l, 2, out))
		k.AddPlan(h, p)
		k.OK(p.Close())
		k.OK(p.Close())
		if _, err := h.AddPlan(p); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a closed plan was added: %v", err)
		}
	})
}

func names(open []driver.Leak, l *life.Lifetime) bool {
	for _, o := range open {
		if strings.HasPrefix(o.String(), l.String()+" of ") {
			return true
		}
	}
	return false
}

func TestPlanIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(1)
		ok, dead := k.Launch(k.Plus, b, 1), k.Launch(k.Plus, gone, 1)
		k.OK(gone.Close())
		e, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(e)
		g := k.Graph()
		n := k.Add(g, ok)
		cases := []struct {
			name  string
			items []graph.Item
			at    string
		}{
			{"closed memory", []graph.Item{{Op: ok}, {Op: ok}, {Op: dead}}, "item 2"},
			{"nil operation", []graph.Item{{Op: ok}, {}}, "item 1"},
			{"after itself", []graph.Item{{Op: ok, After: []int{0}}}, "item 0"},
			{"after a later one", []graph.Item{{Op: ok}, {Op: ok, After: []int{2}}, {Op: ok}}, "item 1"},
			{"after a negative one", []graph.Item{{Op: ok}, {Op: ok, After: []int{-1}}}, "item 1"},
			{"nodes of a graph", []graph.Item{{Op: ok}, {Op: ok, Deps: []graph.Node{n}}}, "item 1"},
		}
		for _, c := range cases {
			if p, err := graph.NewPlan(k.C, c.items); err == nil || p != nil || !strings.Contains(err.Error(), c.at) {
				k.Errorf("%s: %v, %v", c.name, p, err)
			}
		}
		p := k.ChainPlan(ok, ok)
		foreign := k.Add(k.Graph(), ok)
		for _, deps := range [][]graph.Node{{foreign}, {{}}, {n, foreign}} {
			if _, err := g.AddPlan(p, deps...); err == nil {
				k.Errorf("a plan was added after %v", deps)
			}
		}
		other := newKit(k.TB, gputest.Context(k, gputest.Emulator(k, emulator.Config{})))
		if _, err := other.Graph().AddPlan(p); err == nil || !strings.Contains(err.Error(), "another driver") {
			k.Errorf("a plan of another driver was added: %v", err)
		}
		var none *graph.Plan
		if _, err := g.AddPlan(none); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a nil plan: %v", err)
		}
		k.OK(none.Close())
		if k.AddPlan(g, k.plan()).Len() != 0 {
			k.Error("an empty plan has nodes")
		}
		nodes := k.AddPlan(g, p, n)
		k.OK(nodes.At(1).Destroy())
		for i, want := range []bool{false, true} {
			if nodes.At(i).IsZero() != want {
				k.Errorf("node %d: %v", i, nodes.At(i))
			}
		}
		if !nodes.At(-1).IsZero() || !nodes.At(2).IsZero() {
			k.Error("a node that there is not")
		}
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}

func TestPlanOfAnotherContextIsRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	c, err := k.C.Device().NewContext(0)
	k.OK(err)
	k.CloseLater(c)
	p := k.ChainPlan(k.Launch(k.Plus, k.Memory(), 1))
	g, err := graph.New(c)
	k.OK(err)
	k.CloseLater(g)
	if _, err := g.AddPlan(p); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("got %v", err)
	}
}

func TestPlanInAGraphInANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 2)
		p := k.ChainPlan(l, l)
		inner, outer := k.Graph(), k.Graph()
		k.Add(inner, l)
		n, err := outer.AddChild(inner)
		k.OK(err)
		part, err := n.ChildGraph()
		k.OK(err)
		k.AddPlan(part, p, k.Nodes(part)...)
		k.Add(outer, l, n)
		k.Run(k.Exec(outer))
		k.Expect(b, 9)
	})
}

func TestPlanThatFailsLeavesTheGraphAsItWas(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	l := k.Launch(k.Plus, b, 1)
	host, err := driver.NewHostFunc(k.C, func() {})
	k.OK(err)
	p := k.plan(graph.Item{Op: l}, graph.Item{Op: l, After: []int{0}}, graph.Item{Op: host, After: []int{0}},
		graph.Item{Op: l, After: []int{0, 2}}, graph.Item{Op: l, After: []int{1}})
	g := k.Graph()
	k.Add(g, l)
	for i, c := range []struct {
		symbol string
		n      int
		at     string
	}{
		{"cuGraphAddKernelNode_v2", 1, "item 0"},
		{"cuGraphAddKernelNode_v2", 2, "item 1"},
		{"cuGraphAddHostNode", 1, "item 2"},
		{"cuGraphAddKernelNode_v2", 3, "item 3"},
		{"cuGraphAddKernelNode_v2", 4, "item 4"},
	} {
		lib.FailCall(c.symbol, c.n, uint32(graphtest.Injected))
		n, err := g.AddPlan(p)
		lib.Stop()
		if !errors.Is(err, graphtest.Injected) || !strings.Contains(err.Error(), c.at) || n.Len() != 0 {
			k.Errorf("failure %d: %v", i, err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Fatalf("failure %d: %d nodes, %v", i, n, err)
		}
	}
	k.AddPlan(g, p)
	k.Run(k.Exec(g))
	k.Expect(b, 6)
}

func TestBatchGivesTheGraphThatSingleAddsGive(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.Memory(), k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
		k.OK(err)
		fill, err := driver.Fill[uint32](a, 3)
		k.OK(err)
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		g := k.Graph()
		before := k.Add(g, fill)
		n, err := g.AddBatch(nil, []graph.Item{
			{Op: k.Launch(k.Plus, a, 2), Deps: []graph.Node{before}},
			{Op: k.Launch(k.Times, b, 7)},
			{Op: host, After: []int{1}},
			{Op: k.Launch(k.Times, a, 2), After: []int{0}, Deps: []graph.Node{before}},
			{Op: sum, After: []int{3, 1, 2}},
			{Op: k.Launch(k.Plus, d, 1), After: []int{4}},
		})
		k.OK(err)
		if len(n) != 6 {
			k.Fatalf("%d nodes", len(n))
		}
		deps, err := n[4].Dependencies()
		k.OK(err)
		if len(deps) != 3 {
			k.Errorf("dependencies of the sum: %v", deps)
		}
		k.Run(k.Exec(g))
		k.Expect(d, 18)
		k.OK(n[5].Set(k.Launch(k.Plus, d, 100)))
		k.Run(k.Exec(g))
	})
}

func TestChainOfAThousand(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		plus := k.Launch(k.Plus, b, 1)
		ops := make([]driver.Op, 1000)
		for i := range ops {
			ops[i] = plus
		}
		g := k.Graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.OK(err)
		if len(nodes) != 1000 {
			k.Fatalf("%d nodes", len(nodes))
		}
		deps, err := nodes[999].Dependencies()
		k.OK(err)
		if len(deps) != 1 || deps[0] != nodes[998] {
			k.Errorf("the last depends on %v", deps)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 1001)
	})
}

// If the arguments of a plan's operation change, the graphs that the plan is then added to must
// retain the new memory.
func TestPlanKeepsChangedArguments(t *testing.T) {
	each(t, func(k *kit) {
		b, next, out := k.MemoryOf(1), k.MemoryOf(3), k.Memory()
		l, err := k.Sum.Prepare(config, out, b, b, uint32(elems))
		k.OK(err)
		p, err := graph.NewPlan(k.C, graph.Chain([]driver.Op{l}))
		k.OK(err)
		k.OK(driver.SetArg(l, 1, next))
		k.OK(driver.SetArg(l, 2, next))
		g := k.Graph()
		k.AddPlan(g, p)
		k.OK(p.Close())
		k.OK(b.Close())
		life := next.Ref().Lifetime()
		k.OK(next.Close())
		if !names(driver.OpenObjects(), life) {
			k.Error("closed memory of a graph is gone")
		}
		k.Run(k.Exec(g))
		k.Expect(out, 6)
	})
}

// The items need more copied handles than fit into one batch.
func TestBatchOfNodesWithManyDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 1)
		g := k.Graph()
		var first []graph.Node
		for range 7 {
			first = append(first, k.Add(g, l))
		}
		items := make([]graph.Item, 1500)
		for i := range items {
			items[i] = graph.Item{Op: l, Deps: []graph.Node{first[i%7], first[(i+3)%7]}}
		}
		nodes, err := g.AddBatch(nil, items)
		k.OK(err)
		for i, n := range nodes {
			deps, err := n.Dependencies()
			k.OK(err)
			if want := items[i].Deps; len(deps) != 2 || !slices.Contains(deps, want[0]) || !slices.Contains(deps, want[1]) {
				k.Fatalf("node %d depends on %v, want %v", i, deps, want)
			}
		}
	})
}

func TestBatchThatFailsLeavesTheGraphAsItWas(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(1)
		ok := k.Launch(k.Plus, b, 1)
		dead := k.Launch(k.Plus, gone, 1)
		k.OK(gone.Close())
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		g := k.Graph()
		k.Add(g, ok)
		other := k.Graph()
		foreign := k.Add(other, ok)
		cases := []struct {
			name  string
			items []graph.Item
			at    string
		}{
			{"closed memory", []graph.Item{{Op: ok}, {Op: host}, {Op: ok}, {Op: dead}}, "item 3"},
			{"nil operation", []graph.Item{{Op: ok}, {}}, "item 1"},
			{"after itself", []graph.Item{{Op: ok, After: []int{0}}}, "item 0"},
			{"after a later one", []graph.Item{{Op: ok}, {Op: ok, After: []int{2}}, {Op: ok}}, "item 1"},
			{"foreign node", []graph.Item{{Op: ok}, {Op: ok, Deps: []graph.Node{foreign}}}, "item 1"},
			{"the driver's refusal", []graph.Item{{Op: ok}, {Op: ok, After: []int{0}}, {Op: ok, After: []int{0, 0}}, {Op: ok}}, "item 2"},
		}
		for _, c := range cases {
			dst, err := g.AddBatch(nil, c.items)
			if err == nil || len(dst) != 0 || !strings.Contains(err.Error(), c.at) {
				k.Errorf("%s: %v, %v; want an error about %s", c.name, dst, err, c.at)
			}
			if n, err := g.Len(); n != 1 || err != nil {
				k.Fatalf("%s: %d nodes are left, %v", c.name, n, err)
			}
		}
		if _, err := g.AddBatch(nil, []graph.Item{{Op: dead}}); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("%v", err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

// A large batch is passed to the driver in several parts. If a later part fails, the graph must be
// unchanged.
func TestLongBatchThatFailsLeavesNothing(t *testing.T) {
	each(t, func(k *kit) {
		const many = 2500
		b, gone := k.Memory(), k.MemoryOf(1)
		l, bad := k.Launch(k.Plus, b, 1), k.Launch(k.Plus, gone, 1)
		k.OK(gone.Close())
		ops := make([]driver.Op, many, many+1)
		items := make([]graph.Item, many, many+1)
		for i := range ops {
			ops[i], items[i].Op = l, l
			if i > 0 {
				items[i].After = []int{i - 1}
			}
		}
		g := k.Graph()
		first := k.Add(g, l)
		_, chain := g.AddBatch(nil, graph.Chain(append(ops, bad), first))
		_, batch := g.AddBatch(nil, append(items, graph.Item{Op: bad, Deps: []graph.Node{first}}))
		for what, err := range map[string]error{"a chain": chain, "a batch": batch} {
			if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "item 2500") {
				k.Errorf("%s: %v", what, err)
			}
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes are left, %v; want 1", n, err)
		}
		nodes, err := g.AddBatch(nil, graph.Chain(ops, first))
		k.OK(err)
		for i, n := range nodes {
			after, err := n.Dependencies()
			k.OK(err)
			if want := append([]graph.Node{first}, nodes...)[i]; len(after) != 1 || after[0] != want {
				k.Fatalf("node %d runs after %v, want %v", i, after, want)
			}
		}
		k.Run(k.Exec(g))
		k.Expect(b, 1+1+many)
	})
}
