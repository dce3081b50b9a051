package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/life"
)

func (k *kit) plan(items ...graph.Item) *graph.Plan {
	k.Helper()
	p, err := graph.NewPlan(k.c, items)
	k.ok(err)
	k.closeLater(p)
	return p
}

func (k *kit) chainPlan(ops ...driver.Op) *graph.Plan {
	k.Helper()
	p, err := graph.NewPlan(k.c, graph.Chain(ops))
	k.ok(err)
	k.closeLater(p)
	return p
}

func (k *kit) addPlan(g *graph.Graph, p *graph.Plan, deps ...graph.Node) graph.Nodes {
	k.Helper()
	n, err := g.AddPlan(p, deps...)
	k.ok(err)
	if n.Len() != p.Len() {
		k.Fatalf("%d nodes of a plan of %d", n.Len(), p.Len())
	}
	return n
}

// shape is the edges of nodes among themselves, by their places.
func (k *kit) shape(nodes []graph.Node) (shape [][]bool) {
	k.Helper()
	at := map[graph.Node]int{}
	for i, n := range nodes {
		at[n] = i
	}
	for _, n := range nodes {
		row := make([]bool, len(nodes))
		deps, err := n.Dependencies()
		k.ok(err)
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
		a, b, d := k.memory(), k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
		k.ok(err)
		fill, err := driver.Fill[uint32](a, 3)
		k.ok(err)
		copyOp, err := driver.CopyDevice[uint32](b, a)
		k.ok(err)
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		first := k.launch(k.times, k.memory(), 1)
		cooperative, err := k.plus.Prepare(driver.LaunchConfig{Grid: config.Grid, Block: config.Block, Cooperative: true}, d, uint32(elems), uint32(5))
		k.ok(err)
		items := []graph.Item{
			{Op: fill},
			{Op: k.launch(k.plus, a, 2), After: []int{0}},
			{Op: copyOp, After: []int{1}},
			{Op: host, After: []int{1}},
			{Op: k.launch(k.times, b, 7), After: []int{2}},
			{Op: k.launch(k.times, a, 2), After: []int{2, 3}},
			{Op: sum, After: []int{5, 3, 4}},
			{Op: cooperative, After: []int{6}},
			{Op: k.launch(k.plus, d, 1), After: []int{1, 7}},
			{Op: k.launch(k.plus, d, 1), After: []int{8, 0}},
		}
		one, other := k.graph(), k.graph()
		k.add(one, first)
		p := k.plan(items...)
		var planned []graph.Node
		added := k.addPlan(one, p)
		for i := range added.Len() {
			planned = append(planned, added.At(i))
		}
		batched, err := other.AddBatch(nil, items)
		k.ok(err)
		want, got := k.shape(batched), k.shape(planned)
		for i := range want {
			wantType, err := batched[i].Type()
			k.ok(err)
			gotType, err := planned[i].Type()
			k.ok(err)
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
			k.run(k.exec(g))
			k.expect(d, 5*7+5*2+5+1+1)
		}
	})
}

func TestPlanRunsAfterGivenNodes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		plus, times := k.launch(k.plus, b, 4), k.launch(k.times, b, 3)
		p := k.plan(graph.Item{Op: plus}, graph.Item{Op: times, After: []int{0}})
		g := k.graph()
		deps := []graph.Node{}
		for range 3 { // none, then others each time
			n := k.addPlan(g, p, deps...)
			deps = []graph.Node{n.At(1)}
		}
		fill, err := driver.Fill[uint32](b, 2)
		k.ok(err)
		e, err := g.AddEmpty(deps[0])
		k.ok(err)
		x := k.add(g, fill, e)
		y := k.add(g, fill, x)
		n := k.addPlan(g, p, x, y)
		before, err := n.At(0).Dependencies()
		k.ok(err)
		if len(before) != 2 {
			k.Errorf("the first runs after %v", before)
		}
		if before, err = n.At(1).Dependencies(); err != nil || len(before) != 1 || before[0] != n.At(0) {
			k.Errorf("the second runs after %v, %v", before, err)
		}
		k.run(k.exec(g))
		k.expect(b, (2+4)*3)
	})
}

func TestPlanAddsTheArgumentsOfTheMoment(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.memory()
		l := k.launch(k.plus, b, 1)
		p := k.chainPlan(l, l, l)
		g := k.graph()
		k.addPlan(g, p)
		k.run(k.exec(g))
		k.expect(b, 4)
		k.ok(driver.SetArg(l, 2, uint32(10)))
		second := k.graph()
		k.addPlan(second, p)
		k.run(k.exec(second))
		k.expect(b, 34)
		k.ok(driver.SetArg(l, 0, other))
		third := k.graph()
		k.addPlan(third, p)
		k.run(k.exec(third))
		k.expect(other, 31)
		k.expect(b, 34)
		// Attributes need calls of their own.
		cfg := config
		cfg.Cooperative = true
		k.ok(l.SetConfig(cfg))
		fourth := k.graph()
		k.addPlan(fourth, p)
		k.run(k.exec(fourth))
		k.expect(other, 61)
	})
}

func TestPlanKeepsWhatItsOperationsReferTo(t *testing.T) {
	each(t, func(k *kit) {
		b, next := k.memoryOf(1), k.memoryOf(1)
		out := k.memory()
		l, err := k.sum.Prepare(config, out, b, b, uint32(elems))
		k.ok(err)
		p, err := graph.NewPlan(k.c, graph.Chain([]driver.Op{l, l}))
		k.ok(err)
		g, err := graph.New(k.c)
		k.ok(err)
		k.addPlan(g, p)
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(driver.SetArg(l, 1, next))
		k.ok(driver.SetArg(l, 2, next))
		h := k.graph()
		set := k.addPlan(h, p)
		life := b.Ref().Lifetime()
		k.ok(b.Close())
		if !names(driver.OpenObjects(), life) {
			k.Error("closed memory of a graph is gone")
		}
		k.run(x)
		k.expect(out, 2)
		k.ok(g.Close())
		k.run(x)
		k.ok(x.Close())
		graph.WaitParked()
		if names(driver.OpenObjects(), life) {
			k.Error("memory is held although nothing refers to it")
		}

		// A node that is set keeps the new things, the plan's stay.
		y := k.exec(h)
		third := k.memoryOf(5)
		m, err := k.sum.Prepare(config, out, third, third, uint32(elems))
		k.ok(err)
		k.ok(y.Set(set.At(1), m))
		k.ok(set.At(0).Set(l))
		k.ok(third.Close())
		k.run(y)
		k.expect(out, 10)

		// What is closed cannot be added, and later operations can.
		k.ok(next.Close())
		_, err = h.AddPlan(p)
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "item 0") {
			k.Errorf("closed memory was added: %v", err)
		}
		if n, err := h.Len(); n != 2 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
		k.ok(driver.SetArg(l, 1, out))
		k.ok(driver.SetArg(l, 2, out))
		k.addPlan(h, p)
		k.ok(p.Close())
		k.ok(p.Close())
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
		b, gone := k.memory(), k.memoryOf(1)
		ok, dead := k.launch(k.plus, b, 1), k.launch(k.plus, gone, 1)
		k.ok(gone.Close())
		e, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(e)
		g := k.graph()
		n := k.add(g, ok)
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
			if p, err := graph.NewPlan(k.c, c.items); err == nil || p != nil || !strings.Contains(err.Error(), c.at) {
				k.Errorf("%s: %v, %v", c.name, p, err)
			}
		}
		p := k.chainPlan(ok, ok)
		foreign := k.add(k.graph(), ok)
		for _, deps := range [][]graph.Node{{foreign}, {{}}, {n, foreign}} {
			if _, err := g.AddPlan(p, deps...); err == nil {
				k.Errorf("a plan was added after %v", deps)
			}
		}
		other := newKit(k.TB, gputest.Context(k, gputest.Emulator(k, emulator.Config{})))
		if _, err := other.graph().AddPlan(p); err == nil || !strings.Contains(err.Error(), "another driver") {
			k.Errorf("a plan of another driver was added: %v", err)
		}
		var none *graph.Plan
		if _, err := g.AddPlan(none); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a nil plan: %v", err)
		}
		k.ok(none.Close())
		if k.addPlan(g, k.plan()).Len() != 0 {
			k.Error("an empty plan has nodes")
		}
		nodes := k.addPlan(g, p, n)
		k.ok(nodes.At(1).Destroy())
		for i, want := range []bool{false, true} {
			if nodes.At(i).IsZero() != want {
				k.Errorf("node %d: %v", i, nodes.At(i))
			}
		}
		if !nodes.At(-1).IsZero() || !nodes.At(2).IsZero() {
			k.Error("a node that there is not")
		}
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

func TestPlanOfAnotherContextIsRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	c, err := k.c.Device().NewContext(0)
	k.ok(err)
	k.closeLater(c)
	p := k.chainPlan(k.launch(k.plus, k.memory(), 1))
	g, err := graph.New(c)
	k.ok(err)
	k.closeLater(g)
	if _, err := g.AddPlan(p); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("got %v", err)
	}
}

func TestPlanInAGraphInANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 2)
		p := k.chainPlan(l, l)
		inner, outer := k.graph(), k.graph()
		k.add(inner, l)
		n, err := outer.AddChild(inner)
		k.ok(err)
		part, err := n.ChildGraph()
		k.ok(err)
		k.addPlan(part, p, k.nodes(part)...)
		k.add(outer, l, n)
		k.run(k.exec(outer))
		k.expect(b, 9)
	})
}

func TestPlanThatFailsLeavesTheGraphAsItWas(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	l := k.launch(k.plus, b, 1)
	host, err := driver.NewHostFunc(k.c, func() {})
	k.ok(err)
	p := k.plan(graph.Item{Op: l}, graph.Item{Op: l, After: []int{0}}, graph.Item{Op: host, After: []int{0}},
		graph.Item{Op: l, After: []int{0, 2}}, graph.Item{Op: l, After: []int{1}})
	g := k.graph()
	k.add(g, l)
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
		lib.FailCall(c.symbol, c.n, uint32(injected))
		n, err := g.AddPlan(p)
		lib.Stop()
		if !errors.Is(err, injected) || !strings.Contains(err.Error(), c.at) || n.Len() != 0 {
			k.Errorf("failure %d: %v", i, err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Fatalf("failure %d: %d nodes, %v", i, n, err)
		}
	}
	k.addPlan(g, p)
	k.run(k.exec(g))
	k.expect(b, 6)
}

func TestBatchGivesTheGraphThatSingleAddsGive(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.memory(), k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
		k.ok(err)
		fill, err := driver.Fill[uint32](a, 3)
		k.ok(err)
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		g := k.graph()
		before := k.add(g, fill)
		n, err := g.AddBatch(nil, []graph.Item{
			{Op: k.launch(k.plus, a, 2), Deps: []graph.Node{before}},
			{Op: k.launch(k.times, b, 7)},
			{Op: host, After: []int{1}},
			{Op: k.launch(k.times, a, 2), After: []int{0}, Deps: []graph.Node{before}},
			{Op: sum, After: []int{3, 1, 2}},
			{Op: k.launch(k.plus, d, 1), After: []int{4}},
		})
		k.ok(err)
		if len(n) != 6 {
			k.Fatalf("%d nodes", len(n))
		}
		deps, err := n[4].Dependencies()
		k.ok(err)
		if len(deps) != 3 {
			k.Errorf("dependencies of the sum: %v", deps)
		}
		k.run(k.exec(g))
		k.expect(d, 18)
		k.ok(n[5].Set(k.launch(k.plus, d, 100)))
		k.run(k.exec(g))
	})
}

func TestChainOfAThousand(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		plus := k.launch(k.plus, b, 1)
		ops := make([]driver.Op, 1000)
		for i := range ops {
			ops[i] = plus
		}
		g := k.graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		if len(nodes) != 1000 {
			k.Fatalf("%d nodes", len(nodes))
		}
		deps, err := nodes[999].Dependencies()
		k.ok(err)
		if len(deps) != 1 || deps[0] != nodes[998] {
			k.Errorf("the last depends on %v", deps)
		}
		k.run(k.exec(g))
		k.expect(b, 1001)
	})
}

func TestBatchThatFailsLeavesTheGraphAsItWas(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(1)
		ok := k.launch(k.plus, b, 1)
		dead := k.launch(k.plus, gone, 1)
		k.ok(gone.Close())
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		g := k.graph()
		k.add(g, ok)
		other := k.graph()
		foreign := k.add(other, ok)
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
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

// A batch of many nodes is made in several goes: when one fails late, the graph is
// as it was.
func TestLongBatchThatFailsLeavesNothing(t *testing.T) {
	each(t, func(k *kit) {
		const many = 2500
		b, gone := k.memory(), k.memoryOf(1)
		l, bad := k.launch(k.plus, b, 1), k.launch(k.plus, gone, 1)
		k.ok(gone.Close())
		ops := make([]driver.Op, many, many+1)
		items := make([]graph.Item, many, many+1)
		for i := range ops {
			ops[i], items[i].Op = l, l
			if i > 0 {
				items[i].After = []int{i - 1}
			}
		}
		g := k.graph()
		first := k.add(g, l)
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
		k.ok(err)
		for i, n := range nodes {
			after, err := n.Dependencies()
			k.ok(err)
			if want := append([]graph.Node{first}, nodes...)[i]; len(after) != 1 || after[0] != want {
				k.Fatalf("node %d runs after %v, want %v", i, after, want)
			}
		}
		k.run(k.exec(g))
		k.expect(b, 1+1+many)
	})
}
