package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

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
