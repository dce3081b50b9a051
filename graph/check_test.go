package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) check(g *graph.Graph) graph.Checked {
	k.Helper()
	c, err := g.Check()
	k.ok(err)
	return c
}

// clean shows that a graph has no conflict, and nothing that is not known.
func (k *kit) clean(g *graph.Graph) {
	k.Helper()
	if c := k.check(g); !c.OK() || c.Err() != nil || len(c.Unknown) > 0 {
		k.Errorf("want no conflict and nothing unknown, got %v", c)
	}
}

// pairs are the nodes in conflict, by their place among those given.
func pairs(c graph.Checked, nodes []graph.Node) []string {
	var list []string
	for _, x := range c.Conflicts {
		a, b := slices.Index(nodes, x.A), slices.Index(nodes, x.B)
		list = append(list, fmt.Sprint(min(a, b), "-", max(a, b)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestFlowsHaveNoConflictUntilAnEdgeIsMissing(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(6) {
			ops := newRandomWork(k, seed).ops(30)
			f := k.flow(ops...)
			g := k.graph()
			items, err := f.Items()
			k.ok(err)
			nodes, err := g.AddBatch(nil, items)
			k.ok(err)
			k.clean(g)
			for i, it := range items {
				for _, a := range it.After {
					k.ok(g.RemoveEdges(edgesOf(nodes[a:a+1], nodes[i:i+1])...))
					if c := k.check(g); !slices.Contains(pairs(c, nodes), fmt.Sprint(a, "-", i)) {
						t.Fatalf("seed %d: without the edge from %d (%v) to %d (%v): %v", seed, a, ops[a], i, ops[i], c)
					}
					k.ok(g.AddEdges(edgesOf(nodes[a:a+1], nodes[i:i+1])...))
				}
			}
			k.clean(g)
		}
	})
}

// In graphs with any edges Check finds the pairs that are in conflict and not in
// order, no fewer and no more.
func TestCheckFindsExactlyTheConflicts(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(10) {
			w := newRandomWork(k, seed)
			ops := w.ops(40)
			g := k.graph()
			var nodes []graph.Node
			before := make([]map[int]bool, len(ops))
			var want []string
			for i, op := range ops {
				before[i] = make(map[int]bool)
				var deps []graph.Node
				for j := range i {
					if w.IntN(12) > 0 {
						continue
					}
					deps = append(deps, nodes[j])
					before[i][j] = true
					for l := range before[j] {
						before[i][l] = true
					}
				}
				nodes = append(nodes, k.add(g, op, deps...))
				for j := range i {
					if !before[i][j] && conflicts(ops[j], op) {
						want = append(want, fmt.Sprint(j, "-", i))
					}
				}
			}
			slices.Sort(want)
			if got := pairs(k.check(g), nodes); !slices.Equal(got, want) {
				t.Fatalf("seed %d: conflicts %v, want %v", seed, got, want)
			}
		}
	})
}

func TestCheckSaysWhoAndWhere(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, driver.Out(b), driver.In(a), driver.In(a.View(8, 16)), uint32(8))
		k.ok(err)
		fill, err := driver.Fill[uint32](a.View(12, 20), 3)
		k.ok(err)
		g := k.graph()
		k.ok(k.add(g, sum).SetName("adder"))
		k.add(g, fill)
		c := k.check(g)
		if len(c.Conflicts) != 2 || c.Err() == nil || c.OK() {
			t.Fatalf("got %v", c)
		}
		x := c.Conflicts[1]
		if x.OfA.What != "b" || x.OfA.Mode != driver.Reads || x.OfB.Mode != driver.Writes ||
			x.From != uint64(a.Ptr())+48 || x.To != uint64(a.Ptr())+64 {
			t.Errorf("got %+v", x)
		}
		for _, s := range []string{"adder", "reads b", "fill of 32 bytes", "writes destination", "bytes 48 to 64 of the"} {
			if !strings.Contains(c.Err().Error(), s) {
				t.Errorf("%q is not in %v", s, c.Err())
			}
		}
	})
}

// captured is a fork and a join, with or without a conflict between the sides.
func (k *kit) captured(left, right []driver.Op) *graph.Graph {
	k.Helper()
	other := k.stream()
	return k.capture(func(sc *graph.Scope) error {
		f, err := sc.Fork(other)
		k.ok(err)
		for i := range max(len(left), len(right)) {
			if i < len(left) {
				k.ok(sc.Do(left[i]))
			}
			if i < len(right) {
				k.ok(f.Do(right[i]))
			}
		}
		return sc.Join(f)
	})
}

func TestCheckKnowsCapturedKernels(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		k.clean(k.captured([]driver.Op{onA, onA}, []driver.Op{onB, onB}))
		c := k.check(k.captured([]driver.Op{onA, onB}, []driver.Op{onB, onA}))
		if len(c.Conflicts) != 2 || len(c.Unknown) > 0 {
			t.Errorf("two conflicts were captured, got %v", c)
		}
	})
}

// Two kernels of one address and other lengths are told apart by their order.
func TestCheckKnowsHowFarCapturedKernelsReach(t *testing.T) {
	each(t, func(k *kit) {
		a := k.memory()
		part := func(lo, hi int) *driver.Launch {
			l, err := k.plus.Prepare(config, a.View(lo, hi), uint32(hi-lo), uint32(1))
			k.ok(err)
			return l
		}
		k.clean(k.captured([]driver.Op{part(0, 8), part(0, 16)}, []driver.Op{part(16, 32)}))
		c := k.check(k.captured([]driver.Op{part(0, 8), part(0, 17)}, []driver.Op{part(16, 32)}))
		if len(c.Conflicts) != 1 || c.Conflicts[0].To-c.Conflicts[0].From != 4 {
			t.Errorf("one element is common, got %v", c)
		}
	})
}

// One launch that changes between its uses is known by what it was each time.
func TestFootprintsAreThoseOfTheTime(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		l := k.launch(k.plus, a, 1)
		each := func(do func(op driver.Op)) {
			for i := range 4 {
				k.ok(driver.SetArg(l, 0, a.View(8*i, 8*i+8)))
				k.ok(driver.SetArg(l, 1, uint32(8)))
				do(l)
			}
			k.ok(driver.SetArg(l, 0, b))
		}
		added := k.graph()
		each(func(op driver.Op) { k.add(added, op) })
		k.clean(added)
		chained := k.graph()
		each(func(op driver.Op) {
			_, err := chained.AddBatch(nil, []graph.Item{{Op: op}})
			k.ok(err)
		})
		k.clean(chained)
		planned := k.graph()
		p := k.chainPlan(l)
		each(func(driver.Op) { k.addPlan(planned, p) })
		k.clean(planned)
		recorded := k.capture(func(sc *graph.Scope) error {
			each(func(op driver.Op) { k.ok(sc.Do(op)) })
			return nil
		})
		for e, err := range recorded.Edges() {
			k.ok(err)
			k.ok(recorded.RemoveEdges(edgesOf([]graph.Node{e.From}, []graph.Node{e.To})...))
		}
		k.clean(recorded)
		k.ok(driver.SetArg(l, 0, a.View(7, 9)))
		for _, g := range []*graph.Graph{added, chained, planned, recorded} {
			k.add(g, l)
			if c := k.check(g); len(c.Conflicts) != 2 || len(c.Unknown) > 0 {
				t.Errorf("one more node is in conflict with two, got %v", c)
			}
		}
	})
}

func TestCheckFollowsNodesThatChange(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		twoA, err := k.sum.Prepare(config, b, a, a, uint32(elems))
		k.ok(err)
		for what, g := range map[string]*graph.Graph{
			"by hand":  k.byHand(onA, onA),
			"captured": k.captured([]driver.Op{onA}, []driver.Op{onA}),
			"a clone":  k.clone(k.captured([]driver.Op{onA}, []driver.Op{onA})),
			"a plan":   k.planned(onA, onA),
		} {
			var nodes []graph.Node
			for n, err := range g.Nodes() {
				k.ok(err)
				nodes = append(nodes, n)
			}
			want := func(n int) {
				t.Helper()
				if c := k.check(g); len(c.Conflicts) != n || len(c.Unknown) > 0 {
					t.Errorf("%s: want %d conflicts, got %v", what, n, c)
				}
			}
			want(1)
			k.ok(nodes[0].Set(onB))
			want(0)
			copied := k.clone(g)
			k.clean(copied)
			for range 3 {
				k.ok(nodes[0].Set(onA))
				want(1)
				k.ok(nodes[0].Set(twoA))
				want(2) // it writes b, and reads a twice
				k.ok(nodes[0].Set(onB))
			}
			k.clean(copied)
			k.ok(nodes[0].Set(onA))
			k.ok(nodes[0].Destroy())
			want(0)
		}
	})
}

func (k *kit) byHand(ops ...driver.Op) *graph.Graph {
	k.Helper()
	g := k.graph()
	for _, op := range ops {
		k.add(g, op)
	}
	return g
}

func (k *kit) clone(g *graph.Graph) *graph.Graph {
	k.Helper()
	c, err := g.Clone()
	k.ok(err)
	k.closeLater(c)
	return c
}

func (k *kit) planned(ops ...driver.Op) *graph.Graph {
	k.Helper()
	items := make([]graph.Item, len(ops))
	for i, op := range ops {
		items[i].Op = op
	}
	p, err := graph.NewPlan(k.c, items)
	k.ok(err)
	k.closeLater(p)
	g := k.graph()
	k.addPlan(g, p)
	return g
}

func TestCheckLooksIntoChildren(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		g := k.graph()
		before := k.add(g, onA)
		inner := k.captured([]driver.Op{onA}, []driver.Op{onB})
		outer := k.graph()
		_, err := outer.AddChild(inner)
		k.ok(err)
		child, err := g.AddChild(outer, before)
		k.ok(err)
		after := k.add(g, onB, child)
		k.clean(g)
		k.ok(g.RemoveEdges(edgesOf([]graph.Node{child}, []graph.Node{after})...))
		c := k.check(g)
		if len(c.Conflicts) != 1 || len(c.Unknown) > 0 || c.Conflicts[0].A.Graph() == c.Conflicts[0].B.Graph() {
			t.Errorf("the node behind the child is in conflict with one inside, got %v", c)
		}
		k.ok(g.AddEdges(edgesOf([]graph.Node{before}, []graph.Node{after})...))
		in, err := child.ChildGraph()
		k.ok(err)
		k.add(in, onB)
		if c := k.check(g); len(c.Conflicts) != 3 {
			t.Errorf("want a conflict inside and two with it, got %v", c)
		}
	})
}

func TestCheckSaysWhatItDoesNotKnow(t *testing.T) {
	each(t, func(k *kit) {
		a := k.memory()
		l := k.launch(k.plus, a, 1)
		past := k.capture(func(sc *graph.Scope) error {
			k.ok(sc.Keep(l.Refs()))
			return k.s.Do(l)
		})
		number, err := k.plus.Prepare(config, a.Ptr(), uint32(elems), uint32(1))
		k.ok(err)
		look, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		for what, g := range map[string]*graph.Graph{
			"no launch is known": past,
			"p is an address":    k.byHand(number),
			"host function":      k.byHand(look),
		} {
			c := k.check(g)
			if len(c.Unknown) != 1 || !c.OK() || !strings.Contains(c.String(), what) {
				t.Errorf("%s: got %v", what, c)
				continue
			}
			k.ok(c.Unknown[0].Node.Declare(driver.InOut(a)))
			k.clean(g)
			k.add(g, l)
			if c := k.check(g); len(c.Conflicts) != 1 || len(c.Unknown) > 0 {
				t.Errorf("%s, declared: got %v", what, c)
			}
		}
		err = k.add(k.graph(), l).Declare(driver.Declared{})
		refused(t, "a use of nothing", err, "nil")
		refused(t, "no node", graph.Node{}.Declare(), "zero Node")
	})
}

// A word that one side writes and the other waits for is how they are ordered.
func TestWaitingForAWordIsNoConflict(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](a, 3, 1, 0))
		k.ok(err)
		wait, err := driver.NewMemOp(k.c, driver.WaitWord[uint32](a, 3, 1, 0))
		k.ok(err)
		g := k.captured([]driver.Op{write, k.launch(k.plus, b, 1)}, []driver.Op{wait})
		k.clean(g)
		fill, err := driver.Fill[uint32](a.View(2, 4), 0)
		k.ok(err)
		k.add(g, fill)
		if c := k.check(g); len(c.Conflicts) != 1 || c.Conflicts[0].To-c.Conflicts[0].From != 4 {
			t.Errorf("the fill is in conflict over one word, got %v", c)
		}
	})
}

func TestLabelsSayWhatNodesDo(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		host, err := driver.AllocHost[uint32](k.c, elems)
		k.ok(err)
		k.closeLater(host)
		up, err := driver.Upload[uint32](a, host)
		k.ok(err)
		down, err := driver.Download[uint32](host, a)
		k.ok(err)
		across, err := driver.CopyDevice[uint32](b, a)
		k.ok(err)
		fill, err := driver.Fill2D[uint32](a, 4, 8, 2, 4)
		k.ok(err)
		call, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		l := k.launch(k.times, a, 1)
		ops := []driver.Op{l, up, down, across, fill, call}
		want := []string{"times", "upload of 128 bytes", "download of 128 bytes", "device copy of 128 bytes", "fill of 32 bytes", "host function"}
		captured := k.capture(func(sc *graph.Scope) error {
			for _, op := range ops {
				k.ok(sc.Do(op))
			}
			return nil
		})
		for _, g := range []*graph.Graph{k.byHand(ops...), captured, k.clone(captured), k.planned(ops...)} {
			var got []string
			for n, err := range g.Nodes() {
				k.ok(err)
				got = append(got, n.Label())
			}
			if !slices.Equal(got, want) {
				t.Errorf("labels %q, want %q", got, want)
			}
		}
		g := k.graph()
		n, err := g.AddEmpty()
		k.ok(err)
		child, err := g.AddChild(captured)
		k.ok(err)
		if n.Label() != "empty" || child.Label() != "child graph" || (graph.Node{}).Label() != "no node" {
			t.Errorf("labels %q, %q", n.Label(), child.Label())
		}
		k.ok(n.SetName("gate"))
		if n.Label() != "gate" {
			t.Errorf("the label of a named node is %q", n.Label())
		}
		gone := k.add(g, l)
		k.ok(gone.Destroy())
		if gone.Label() == "" {
			t.Error("a destroyed node has no label")
		}
	})
}

func TestCheckOfGraphsThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.New(k.c)
		k.ok(err)
		k.clean(g)
		k.ok(g.Close())
		_, err = g.Check()
		refused(t, "a closed graph", err, "closed")
		var none *graph.Graph
		_, err = none.Check()
		refused(t, "nil", err, "nil graph")
	})
}

// The many neighbours of a large graph are in order; a stranger among them is
// found.
func TestCheckOfLargeGraphs(t *testing.T) {
	each(t, func(k *kit) {
		a := k.memory()
		ops := make([]driver.Op, 9000)
		for i := range ops {
			ops[i] = k.launch(k.plus, a, 1)
		}
		g := k.graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		k.clean(g)
		k.add(g, ops[0], nodes[8000])
		c := k.check(g)
		if !c.Truncated || len(c.Conflicts) == 0 {
			t.Errorf("got %d conflicts", len(c.Conflicts))
		}
	})
}

// Memory of an allocation node exists from that node on: what is not ordered
// after it uses memory that is not there.
func TestCheckFindsUseBeforeAllocationAndAfterFree(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		b, alloc := k.alloc(g)
		unordered := k.fill(g, b, 1)
		if got := pairs(k.check(g), []graph.Node{alloc, unordered}); !slices.Equal(got, []string{"0-1"}) {
			t.Errorf("a fill that is not after the allocation: conflicts %v", got)
		}
		k.ok(g.AddEdges(edgesOf([]graph.Node{alloc}, []graph.Node{unordered})...))
		k.clean(g)
		free := k.free(g, b, alloc)
		if got := pairs(k.check(g), []graph.Node{alloc, unordered, free}); !slices.Equal(got, []string{"1-2"}) {
			t.Errorf("a fill that is not before the free: conflicts %v", got)
		}
		k.ok(g.AddEdges(edgesOf([]graph.Node{unordered}, []graph.Node{free})...))
		k.clean(g)
	})
}

// A node whose parameters the driver does not tell fails the check: a graph of
// which something is not known is not reported as one without conflicts.
func TestCheckReportsWhatTheDriverDoesNotTell(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	m := k.memory()
	word, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](m, 0, 1, 0))
	k.ok(err)
	g := k.graph()
	b, alloc := k.alloc(g)
	fill := k.fill(g, b, 1, alloc)
	step := k.add(g, k.launch(k.plus, b, 1), fill)
	copied := k.copyNode(g, b, m, step)
	wrote := k.add(g, word, copied)
	k.free(g, b, wrote)
	k.clean(g)
	lib.Count()
	k.clean(g)
	for i, c := range lib.Stop() {
		lib.FailNth(i+1, uint32(injected))
		_, err := g.Check()
		lib.Stop()
		if !errors.Is(err, injected) {
			t.Errorf("call %d (%s) failed: got %v, want %v", i+1, c.Symbol, err, injected)
		}
	}
}

// The bodies of one node never run at the same time; what is beside the node
// does.
func TestCheckLooksIntoBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		g := k.graph()
		c, err := g.NewCond()
		k.ok(err)
		set, err := c.SetWhen(graph.When(b.View(0, 1), graph.Greater, 0))
		k.ok(err)
		first := k.add(g, set)
		n, bodies, err := g.AddSwitch(c, 2, first)
		k.ok(err)
		k.add(bodies[0], onA)
		k.add(bodies[1], onA, k.add(bodies[1], onA))
		beside := k.add(g, onB, first)
		k.clean(g)
		k.ok(beside.Set(onA))
		if c := k.check(g); len(c.Conflicts) != 3 || len(c.Unknown) > 0 {
			t.Errorf("each node of the bodies is in conflict with the one beside, got %v", c)
		}
		k.ok(g.AddEdges(edgesOf([]graph.Node{n}, []graph.Node{beside})...))
		k.clean(g)
		k.add(bodies[0], onA)
		if c := k.check(g); len(c.Conflicts) != 1 || c.Conflicts[0].A.Graph() != bodies[0] {
			t.Errorf("there is one conflict within a body, got %v", c)
		}
	})
}

func TestCheckLooksIntoCapturedBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		other := k.stream()
		captured := func(beside driver.Op) *graph.Graph {
			return k.capture(func(sc *graph.Scope) error {
				c, err := sc.NewCond()
				k.ok(err)
				f, err := sc.Fork(other)
				k.ok(err)
				k.ok(f.Do(beside))
				k.ok(sc.If(c, func(body *graph.Scope) error { return body.Do(onA) }))
				return sc.Join(f)
			})
		}
		k.clean(captured(onB))
		if c := k.check(captured(onA)); len(c.Conflicts) != 1 || len(c.Unknown) > 0 {
			t.Errorf("the kernel in the body is in conflict with the one beside, got %v", c)
		}
	})
}
