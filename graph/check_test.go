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
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCheckSaysWhoAndWhere(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, driver.Out(b), driver.In(a), driver.In(a.View(8, 16)), uint32(8))
		k.OK(err)
		fill, err := driver.Fill[uint32](a.View(12, 20), 3)
		k.OK(err)
		g := k.Graph()
		k.OK(k.Add(g, sum).SetName("adder"))
		k.Add(g, fill)
		c := k.Check(g)
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

// captured returns a graph captured on two streams, in which the operations in left run
// concurrently with those in right.
func (k *kit) captured(left, right []driver.Op) *graph.Graph {
	k.Helper()
	other := k.Stream()
	return k.Capture(func(sc *graph.Scope) error {
		f, err := sc.Fork(other)
		k.OK(err)
		for i := range max(len(left), len(right)) {
			if i < len(left) {
				k.OK(sc.Do(left[i]))
			}
			if i < len(right) {
				k.OK(f.Do(right[i]))
			}
		}
		return sc.Join(f)
	})
}

func TestCheckKnowsCapturedKernels(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		onA, onB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		k.Clean(k.captured([]driver.Op{onA, onA}, []driver.Op{onB, onB}))
		c := k.Check(k.captured([]driver.Op{onA, onB}, []driver.Op{onB, onA}))
		if len(c.Conflicts) != 2 || len(c.Unknown) > 0 {
			t.Errorf("two conflicts were captured, got %v", c)
		}
	})
}

// Two captured launches of one kernel have the same address and different lengths. Check must use
// the length of each.
func TestCheckKnowsHowFarCapturedKernelsReach(t *testing.T) {
	each(t, func(k *kit) {
		a := k.Memory()
		part := func(lo, hi int) *driver.Launch {
			l, err := k.Plus.Prepare(config, a.View(lo, hi), uint32(hi-lo), uint32(1))
			k.OK(err)
			return l
		}
		k.Clean(k.captured([]driver.Op{part(0, 8), part(0, 16)}, []driver.Op{part(16, 32)}))
		c := k.Check(k.captured([]driver.Op{part(0, 8), part(0, 17)}, []driver.Op{part(16, 32)}))
		if len(c.Conflicts) != 1 || c.Conflicts[0].To-c.Conflicts[0].From != 4 {
			t.Errorf("one element is common, got %v", c)
		}
	})
}

// One launch is changed between the nodes that are added from it. Each node must have the access
// set that the launch had when it was added.
func TestAccessSetsAreThoseOfTheTime(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		l := k.Launch(k.Plus, a, 1)
		each := func(do func(op driver.Op)) {
			for i := range 4 {
				k.OK(driver.SetArg(l, 0, a.View(8*i, 8*i+8)))
				k.OK(driver.SetArg(l, 1, uint32(8)))
				do(l)
			}
			k.OK(driver.SetArg(l, 0, b))
		}
		added := k.Graph()
		each(func(op driver.Op) { k.Add(added, op) })
		k.Clean(added)
		chained := k.Graph()
		each(func(op driver.Op) {
			_, err := chained.AddBatch(nil, []graph.Item{{Op: op}})
			k.OK(err)
		})
		k.Clean(chained)
		planned := k.Graph()
		p := k.ChainPlan(l)
		each(func(driver.Op) { k.AddPlan(planned, p) })
		k.Clean(planned)
		recorded := k.Capture(func(sc *graph.Scope) error {
			each(func(op driver.Op) { k.OK(sc.Do(op)) })
			return nil
		})
		for e, err := range recorded.Edges() {
			k.OK(err)
			k.OK(recorded.RemoveEdges(graphtest.EdgesOf([]graph.Node{e.From}, []graph.Node{e.To})...))
		}
		k.Clean(recorded)
		k.OK(driver.SetArg(l, 0, a.View(7, 9)))
		for _, g := range []*graph.Graph{added, chained, planned, recorded} {
			k.Add(g, l)
			if c := k.Check(g); len(c.Conflicts) != 2 || len(c.Unknown) > 0 {
				t.Errorf("one more node is in conflict with two, got %v", c)
			}
		}
	})
}

func TestCheckFollowsNodesThatChange(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		onA, onB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		twoA, err := k.Sum.Prepare(config, b, a, a, uint32(elems))
		k.OK(err)
		for what, g := range map[string]*graph.Graph{
			"by hand":  k.byHand(onA, onA),
			"captured": k.captured([]driver.Op{onA}, []driver.Op{onA}),
			"a clone":  k.clone(k.captured([]driver.Op{onA}, []driver.Op{onA})),
			"a plan":   k.planned(onA, onA),
		} {
			var nodes []graph.Node
			for n, err := range g.Nodes() {
				k.OK(err)
				nodes = append(nodes, n)
			}
			want := func(n int) {
				t.Helper()
				if c := k.Check(g); len(c.Conflicts) != n || len(c.Unknown) > 0 {
					t.Errorf("%s: want %d conflicts, got %v", what, n, c)
				}
			}
			want(1)
			k.OK(nodes[0].Set(onB))
			want(0)
			copied := k.clone(g)
			k.Clean(copied)
			for range 3 {
				k.OK(nodes[0].Set(onA))
				want(1)
				k.OK(nodes[0].Set(twoA))
				want(2) // the node writes b and reads a twice
				k.OK(nodes[0].Set(onB))
			}
			k.Clean(copied)
			k.OK(nodes[0].Set(onA))
			k.OK(nodes[0].Destroy())
			want(0)
		}
	})
}

func (k *kit) byHand(ops ...driver.Op) *graph.Graph {
	k.Helper()
	g := k.Graph()
	for _, op := range ops {
		k.Add(g, op)
	}
	return g
}

func (k *kit) clone(g *graph.Graph) *graph.Graph {
	k.Helper()
	c, err := g.Clone()
	k.OK(err)
	k.CloseLater(c)
	return c
}

func (k *kit) planned(ops ...driver.Op) *graph.Graph {
	k.Helper()
	items := make([]graph.Item, len(ops))
	for i, op := range ops {
		items[i].Op = op
	}
	p, err := graph.NewPlan(k.C, items)
	k.OK(err)
	k.CloseLater(p)
	g := k.Graph()
	k.AddPlan(g, p)
	return g
}

func TestCheckLooksIntoChildren(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		onA, onB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		g := k.Graph()
		before := k.Add(g, onA)
		inner := k.captured([]driver.Op{onA}, []driver.Op{onB})
		outer := k.Graph()
		_, err := outer.AddChild(inner)
		k.OK(err)
		child, err := g.AddChild(outer, before)
		k.OK(err)
		after := k.Add(g, onB, child)
		k.Clean(g)
		k.OK(g.RemoveEdges(graphtest.EdgesOf([]graph.Node{child}, []graph.Node{after})...))
		c := k.Check(g)
		if len(c.Conflicts) != 1 || len(c.Unknown) > 0 || c.Conflicts[0].A.Graph() == c.Conflicts[0].B.Graph() {
			t.Errorf("the node after the child is in conflict with one inside, got %v", c)
		}
		k.OK(g.AddEdges(graphtest.EdgesOf([]graph.Node{before}, []graph.Node{after})...))
		in, err := child.ChildGraph()
		k.OK(err)
		k.Add(in, onB)
		if c := k.Check(g); len(c.Conflicts) != 3 {
			t.Errorf("want a conflict inside and two with it, got %v", c)
		}
	})
}

func TestCheckSaysWhatItDoesNotKnow(t *testing.T) {
	each(t, func(k *kit) {
		a := k.Memory()
		l := k.Launch(k.Plus, a, 1)
		past := k.Capture(func(sc *graph.Scope) error {
			k.OK(sc.Keep(l.Uses().Refs))
			return k.S.Do(l)
		})
		number, err := k.Plus.Prepare(config, a.Ptr(), uint32(elems), uint32(1))
		k.OK(err)
		look, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		for what, g := range map[string]*graph.Graph{
			"not made from a known launch": past,
			"p is an address":              k.byHand(number),
			"host function":                k.byHand(look),
		} {
			c := k.Check(g)
			if len(c.Unknown) != 1 || !c.OK() || !strings.Contains(c.String(), what) {
				t.Errorf("%s: got %v", what, c)
				continue
			}
			k.OK(c.Unknown[0].Node.Declare(driver.InOut(a)))
			k.Clean(g)
			k.Add(g, l)
			if c := k.Check(g); len(c.Conflicts) != 1 || len(c.Unknown) > 0 {
				t.Errorf("%s, declared: got %v", what, c)
			}
		}
		err = k.Add(k.Graph(), l).Declare(driver.Declared{})
		graphtest.Refused(t, "a use of nothing", err, "nil")
		graphtest.Refused(t, "no node", graph.Node{}.Declare(), "zero Node")
	})
}

// One branch writes a word and another waits for it. The wait orders the branches, so Check must
// not report a conflict.
func TestWaitingForAWordIsNoConflict(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](a, 3, 1, 0))
		k.OK(err)
		wait, err := driver.NewMemOp(k.C, driver.WaitWord[uint32](a, 3, 1, 0))
		k.OK(err)
		g := k.captured([]driver.Op{write, k.Launch(k.Plus, b, 1)}, []driver.Op{wait})
		k.Clean(g)
		fill, err := driver.Fill[uint32](a.View(2, 4), 0)
		k.OK(err)
		k.Add(g, fill)
		if c := k.Check(g); len(c.Conflicts) != 1 || c.Conflicts[0].To-c.Conflicts[0].From != 4 {
			t.Errorf("the fill is in conflict over one word, got %v", c)
		}
	})
}

func TestLabelsSayWhatNodesDo(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		host, err := driver.AllocHost[uint32](k.C, elems)
		k.OK(err)
		k.CloseLater(host)
		up, err := driver.Upload[uint32](a, host)
		k.OK(err)
		down, err := driver.Download[uint32](host, a)
		k.OK(err)
		across, err := driver.CopyDevice[uint32](b, a)
		k.OK(err)
		fill, err := driver.Fill2D[uint32](a, 4, 8, 2, 4)
		k.OK(err)
		call, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		l := k.Launch(k.Times, a, 1)
		ops := []driver.Op{l, up, down, across, fill, call}
		want := []string{"times", "upload of 128 bytes", "download of 128 bytes", "device copy of 128 bytes", "fill of 32 bytes", "host function"}
		captured := k.Capture(func(sc *graph.Scope) error {
			for _, op := range ops {
				k.OK(sc.Do(op))
			}
			return nil
		})
		for _, g := range []*graph.Graph{k.byHand(ops...), captured, k.clone(captured), k.planned(ops...)} {
			var got []string
			for n, err := range g.Nodes() {
				k.OK(err)
				got = append(got, n.Label())
			}
			if !slices.Equal(got, want) {
				t.Errorf("labels %q, want %q", got, want)
			}
		}
		g := k.Graph()
		n, err := g.AddEmpty()
		k.OK(err)
		child, err := g.AddChild(captured)
		k.OK(err)
		if n.Label() != "empty" || child.Label() != "child graph" || (graph.Node{}).Label() != "no node" {
			t.Errorf("labels %q, %q", n.Label(), child.Label())
		}
		k.OK(n.SetName("gate"))
		if n.Label() != "gate" {
			t.Errorf("the label of a named node is %q", n.Label())
		}
		gone := k.Add(g, l)
		k.OK(gone.Destroy())
		if gone.Label() == "" {
			t.Error("a destroyed node has no label")
		}
	})
}

func TestCheckOfGraphsThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.New(k.C)
		k.OK(err)
		k.Clean(g)
		k.OK(g.Close())
		_, err = g.Check()
		graphtest.Refused(t, "a closed graph", err, "closed")
		var none *graph.Graph
		_, err = none.Check()
		graphtest.Refused(t, "nil", err, "nil graph")
	})
}

// In a large graph, dependencies order all neighbouring accesses except the accesses of one node.
// Check must find that node.
func TestCheckOfLargeGraphs(t *testing.T) {
	each(t, func(k *kit) {
		a := k.Memory()
		ops := make([]driver.Op, 9000)
		for i := range ops {
			ops[i] = k.Launch(k.Plus, a, 1)
		}
		g := k.Graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.OK(err)
		k.Clean(g)
		k.Add(g, ops[0], nodes[8000])
		c := k.Check(g)
		if !c.Truncated || len(c.Conflicts) == 0 {
			t.Errorf("got %d conflicts", len(c.Conflicts))
		}
	})
}

// The memory of an allocation node exists from that node until the free node. Check must find nodes
// that are not ordered between the two.
func TestCheckFindsUseBeforeAllocationAndAfterFree(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		b, alloc := k.Alloc(g)
		unordered := k.Fill(g, b, 1)
		if got := graphtest.Pairs(k.Check(g), []graph.Node{alloc, unordered}); !slices.Equal(got, []string{"0-1"}) {
			t.Errorf("a fill that is not after the allocation: conflicts %v", got)
		}
		k.OK(g.AddEdges(graphtest.EdgesOf([]graph.Node{alloc}, []graph.Node{unordered})...))
		k.Clean(g)
		free := k.free(g, b, alloc)
		if got := graphtest.Pairs(k.Check(g), []graph.Node{alloc, unordered, free}); !slices.Equal(got, []string{"1-2"}) {
			t.Errorf("a fill that is not before the free: conflicts %v", got)
		}
		k.OK(g.AddEdges(graphtest.EdgesOf([]graph.Node{unordered}, []graph.Node{free})...))
		k.Clean(g)
	})
}

// If the driver does not return a node's parameters, Check must fail. It must not report a partly
// known graph as free of conflicts.
func TestCheckReportsWhatTheDriverDoesNotTell(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	m := k.Memory()
	word, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](m, 0, 1, 0))
	k.OK(err)
	g := k.Graph()
	b, alloc := k.Alloc(g)
	fill := k.Fill(g, b, 1, alloc)
	step := k.Add(g, k.Launch(k.Plus, b, 1), fill)
	copied := k.CopyNode(g, b, m, step)
	wrote := k.Add(g, word, copied)
	k.free(g, b, wrote)
	k.Clean(g)
	// How many calls Check makes varies: the collector empties the pool of buffers, and a new buffer
	// needs a call for the size.
	failed := func(c faulty.Call) bool { return c.Failed }
	for n := 1; ; n++ {
		lib.FailNth(n, uint32(graphtest.Injected))
		_, err := g.Check()
		calls := lib.Stop()
		i := slices.IndexFunc(calls, failed)
		if i < 0 {
			k.OK(err)
			if n < 20 {
				t.Errorf("Check made only %d calls", n-1)
			}
			return
		}
		if !errors.Is(err, graphtest.Injected) {
			t.Errorf("call %d (%s) failed: got %v, want %v", n, calls[i].Symbol, err, graphtest.Injected)
		}
	}
}

// Check must assume that the bodies of one conditional node never run concurrently. Nodes that are
// not ordered with the conditional node may run concurrently with its bodies.
func TestCheckLooksIntoBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		onA, onB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		g := k.Graph()
		c, err := g.NewCond()
		k.OK(err)
		set, err := c.SetWhen(graph.When(b.View(0, 1), graph.Greater, 0))
		k.OK(err)
		first := k.Add(g, set)
		n, bodies, err := g.AddSwitch(c, 2, first)
		k.OK(err)
		k.Add(bodies[0], onA)
		k.Add(bodies[1], onA, k.Add(bodies[1], onA))
		beside := k.Add(g, onB, first)
		k.Clean(g)
		k.OK(beside.Set(onA))
		if c := k.Check(g); len(c.Conflicts) != 3 || len(c.Unknown) > 0 {
			t.Errorf("each node of the bodies is in conflict with the one beside, got %v", c)
		}
		k.OK(g.AddEdges(graphtest.EdgesOf([]graph.Node{n}, []graph.Node{beside})...))
		k.Clean(g)
		k.Add(bodies[0], onA)
		if c := k.Check(g); len(c.Conflicts) != 1 || c.Conflicts[0].A.Graph() != bodies[0] {
			t.Errorf("there is one conflict within a body, got %v", c)
		}
	})
}

func TestCheckLooksIntoCapturedBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		onA, onB := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		other := k.Stream()
		captured := func(beside driver.Op) *graph.Graph {
			return k.Capture(func(sc *graph.Scope) error {
				c, err := sc.NewCond()
				k.OK(err)
				f, err := sc.Fork(other)
				k.OK(err)
				k.OK(f.Do(beside))
				k.OK(sc.If(c, func(body *graph.Scope) error { return body.Do(onA) }))
				return sc.Join(f)
			})
		}
		k.Clean(captured(onB))
		if c := k.Check(captured(onA)); len(c.Conflicts) != 1 || len(c.Unknown) > 0 {
			t.Errorf("the kernel in the body is in conflict with the one beside, got %v", c)
		}
	})
}

// The copies of a captured graph must keep its access sets, even if the graph is changed and closed
// and later captures reuse its tables.
func TestAccessSetsOfACopyOutliveTheCapturedGraph(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		g, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Plus, a, 1)) })
		k.OK(err)
		h := k.Graph()
		_, err = h.AddChild(g)
		k.OK(err)
		k.Add(h, k.Launch(k.Times, a, 2)) // runs concurrently with the child graph
		for n, err := range g.Nodes() {
			k.OK(err)
			k.OK(n.Set(k.Launch(k.Plus, b, 1)))
		}
		k.OK(g.Close())
		for range 8 { // other captures reuse its tables
			later := k.Capture(func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Times, b, 3)) })
			_, err := later.AddChild(k.Graph())
			k.OK(err)
		}
		checked, err := h.Check()
		k.OK(err)
		if len(checked.Conflicts) != 1 || len(checked.Unknown) != 0 {
			k.Errorf("%v", checked)
		}
	})
}
