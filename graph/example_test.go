package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

func open() (c *driver.Context, s *driver.Stream, plus, times *driver.Kernel, b *driver.Buffer[uint32]) {
	return graphtest.Open()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func first(b *driver.Buffer[uint32]) uint32 {
	v := make([]uint32, b.Len())
	must(b.CopyTo(v))
	return v[0]
}

// Record the work enqueued in a stream, and replay it.
func ExampleCapture() {
	_, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)

	g, err := graph.Capture(s, graph.ModeGlobal, func(sc *graph.Scope) error {
		if err := sc.Do(add); err != nil {
			return err
		}
		return sc.Do(mul)
	})
	must(err)
	x, err := g.Instantiate()
	must(err)

	for range 3 {
		must(x.Launch(s))
	}
	must(s.Wait(context.Background()))
	fmt.Println(first(b), "after", x.Replays(), "replays")
	// Output: 3220 after 3 replays
}

// Build a graph node by node, change an argument of a node, and replay.
func ExampleExec_Set() {
	c, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)

	g, err := graph.New(c)
	must(err)
	n, err := g.Add(add)
	must(err)
	_, err = g.Add(mul, n) // after n
	must(err)
	x, err := g.Instantiate()
	must(err)

	must(driver.SetArg(add, 2, uint32(99)))
	must(x.Set(n, add))
	must(x.Run(context.Background(), s))
	fmt.Println(first(b))
	// Output: 1000
}

// Update an executable graph for the next step, or instantiate it anew if an update is impossible.
func ExampleWithReinstantiate() {
	_, s, plus, _, b := open()
	step := func(values ...uint32) *graph.Graph {
		var ops []driver.Op
		for _, v := range values {
			op, err := plus.Prepare(config, b, uint32(elems), v)
			must(err)
			ops = append(ops, op)
		}
		g, err := graphtest.Recorded(s, ops...)
		must(err)
		return g
	}
	x, err := step(1, 2).Instantiate()
	must(err)
	for _, values := range [][]uint32{{3, 4}, {5, 6, 7}} {
		how, err := x.Update(step(values...), graph.WithReinstantiate())
		must(err)
		must(x.Run(context.Background(), s))
		fmt.Println(how, first(b))
	}
	// Output:
	// updated 8
	// not updated: the nodes or their dependencies differ; instantiated anew 26
}

// Build a new graph for each step from a list of operations that is checked only once.
func ExamplePlan() {
	c, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(0))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)
	plan, err := graph.NewPlan(c, []graph.Item{
		{Op: add},
		{Op: mul, After: []int{0}},
	})
	must(err)
	defer plan.Close()

	for _, v := range []uint32{1, 2} {
		must(driver.SetArg(add, 2, v)) // the next AddPlan uses this value
		g, err := graph.New(c)
		must(err)
		once, err := g.AddPlan(plan)
		must(err)
		_, err = g.AddPlan(plan, once.At(1)) // add the plan a second time, after the first
		must(err)
		x, err := g.Instantiate()
		must(err)
		must(x.Run(context.Background(), s))
		fmt.Println(once.Len(), "nodes twice:", first(b))
		must(x.Close())
		must(g.Close())
	}
	// Output:
	// 2 nodes twice: 210
	// 2 nodes twice: 21220
}

// If you cannot put the recorded code in one function, use Begin and End, and end the capture on
// every path.
func ExampleRecording() {
	_, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	r, err := graph.Begin(s, graph.ModeThreadLocal)
	must(err)
	if err := r.Scope().Do(add); err != nil {
		must(errors.Join(err, r.Abort()))
	}
	g, err := r.End()
	must(err)
	n, err := g.Len()
	must(err)
	fmt.Println(n, errors.Is(r.Scope().Do(add), graph.ErrEnded))
	must(g.Close())
	// Output: 1 true
}

// Bind the per-launch arguments once. Then, for each launch, only set them and launch.
func ExampleBindings() {
	c, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(0))
	must(err)
	g, err := graph.New(c)
	must(err)
	n, err := g.Add(add)
	must(err)
	x, err := g.Instantiate()
	must(err)

	bs := x.Bindings()
	value, err := graph.Bind[uint32](bs, n, add, 2)
	must(err)
	for i := range 4 {
		must(value.Set(uint32(i)))
		must(bs.Launch(s))
	}
	must(x.Wait(context.Background()))
	fmt.Println(first(b))
	// Output: 7
}

// A parameter can be bound by its name in the PTX.
func ExampleParam() {
	c, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(0))
	must(err)
	g, err := graph.New(c)
	must(err)
	n, err := g.Add(add)
	must(err)
	x, err := g.Instantiate()
	must(err)
	value, err := graph.BindName[uint32](x.Bindings(), n, add, add.Kernel().ArgName(2))
	must(err)
	must(value.Set(41))
	fmt.Println(x.Bindings().Changed())
	must(x.Bindings().Launch(s))
	must(x.Wait(context.Background()))
	fmt.Println(first(b))
	// Output:
	// 1
	// 42
}

// A kernel sets a condition, and a conditional node reads it.
func ExampleCond() {
	c, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(5))
	must(err)
	g, err := graph.New(c)
	must(err)
	cond, err := g.NewCond()
	must(err)
	look, err := cond.SetWhen(graph.When(b, graph.Less, 10)) // 1 if b[0] < 10
	must(err)
	set, err := g.Add(look)
	must(err)
	_, body, err := g.AddIf(cond, set)
	must(err)
	_, err = body.Add(add)
	must(err)
	x, err := g.Instantiate()
	must(err)
	for range 3 {
		must(x.Run(context.Background(), s))
		fmt.Println(first(b))
	}
	// Output:
	// 6
	// 11
	// 11
}

// A loop of exactly three iterations.
func ExampleBound() {
	c, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	rounds, err := driver.Alloc[uint32](c, 1)
	must(err)
	g, err := graph.New(c)
	must(err)
	cond, err := g.NewCond()
	must(err)
	loop, err := cond.Within(rounds, 3)
	must(err)
	start, err := loop.Start()
	must(err)
	next, err := loop.Next()
	must(err)
	begin, err := g.Add(start)
	must(err)
	_, body, err := g.AddWhile(cond, begin)
	must(err)
	_, err = body.AddBatch(nil, graph.Chain([]driver.Op{add, next}))
	must(err)
	x, err := g.Instantiate()
	must(err)
	must(x.Run(context.Background(), s))
	fmt.Println(first(b))
	// Output: 7
}

// Check finds nodes that access the same memory although no dependency orders them.
func ExampleGraph_Check() {
	c, _, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(3))
	must(err)
	g, err := graph.New(c)
	must(err)
	one, err := g.Add(add)
	must(err)
	two, err := g.Add(mul)
	must(err)
	found, err := g.Check()
	must(err)
	fmt.Println(found.OK(), len(found.Conflicts))

	must(g.AddEdges(graph.Edge{From: one, To: two}))
	found, err = g.Check()
	must(err)
	fmt.Println(found.OK(), found.Err())
	// Output:
	// false 1
	// true <nil>
}

// A snapshot is a graph as data: its nodes and their dependencies.
func ExampleGraph_Snapshot() {
	_, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)
	g, err := graphtest.Recorded(s, add, mul)
	must(err)
	p, err := g.Snapshot()
	must(err)
	for _, n := range p.Nodes {
		fmt.Println(n.ID, n.Kind, n.Name, n.Params)
	}
	for _, e := range p.Edges {
		fmt.Println(p.Nodes[e.To].ID, "after", p.Nodes[e.From].ID)
	}
	// Output:
	// 0 kernel plus grid 1 block 32
	// 1 kernel times grid 1 block 32
	// 1 after 0
}

// Measure how long each node takes on the device.
func ExampleGraph_Profile() {
	_, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	g, err := graphtest.Recorded(s, add)
	must(err)
	p, err := g.Profile(context.Background(), s, graph.WithRounds(3))
	must(err)
	fmt.Println(p.Profile.Rounds, "rounds;", p.Profile.Run > 0, p.Nodes[0].Timed)
	// Output: 3 rounds; true true
}

// If an Exec cannot be updated, Update reports that as a result, not as an error.
func ExampleExec_Update() {
	_, s, plus, _, b := open()
	record := func(n int) *graph.Graph {
		add, err := plus.Prepare(config, b, uint32(elems), uint32(n))
		must(err)
		ops := make([]driver.Op, n)
		for i := range ops {
			ops[i] = add
		}
		g, err := graphtest.Recorded(s, ops...)
		must(err)
		return g
	}
	x, err := record(2).Instantiate()
	must(err)
	for _, n := range []int{2, 3} {
		r, err := x.Update(record(n))
		must(err)
		fmt.Println(r.Updated(), r)
	}
	// Output:
	// true updated
	// false not updated: the nodes or their dependencies differ
}

// A pool retains the objects that several graphs use, even if their owner closes them.
func ExamplePool() {
	c, _, _, _, b := open()
	pool, err := graph.NewPool(c)
	must(err)
	must(pool.Register(b.Ref()))
	g, err := graph.New(c)
	must(err)
	must(g.Keep(pool))
	must(b.Close())
	fmt.Println(pool.Len(), pool.InUse())
	must(g.Close())
	fmt.Println(pool.InUse())
	must(pool.Close())
	// Output:
	// 1 true
	// false
}

// The launch of an executable graph is an ordinary operation. You can enqueue it in a stream or add
// it to another graph.
func ExampleExec_Op() {
	_, s, plus, _, b := open() // b holds ones
	addTwo, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	inner, err := graphtest.Recorded(s, addTwo, addTwo)
	must(err)
	step, err := inner.Instantiate()
	must(err)
	must(s.Do(step.Op()))
	outer, err := graphtest.Recorded(s, step.Op(), addTwo)
	must(err)
	twice, err := outer.Instantiate()
	must(err)
	must(twice.Run(context.Background(), s))
	n, err := outer.Len()
	must(err)
	fmt.Println(first(b), n)
	must(errors.Join(twice.Close(), outer.Close(), step.Close(), inner.Close()))
	// Output: 11 2
}

// Look up the nodes that were added for a plan, in the order of its items.
func ExampleNodes() {
	c, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(1))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)
	plan, err := graph.NewPlan(c, graph.Chain([]driver.Op{add, mul}))
	must(err)
	defer plan.Close()
	g, err := graph.New(c)
	must(err)
	once, err := g.AddPlan(plan)
	must(err)
	last := once.At(once.Len() - 1)
	_, err = g.AddPlan(plan, last)
	must(err)
	x, err := g.Instantiate()
	must(err)
	must(x.Run(context.Background(), s))
	fmt.Println(once.Len(), first(b))
	// Output: 2 210
}

// Each replay reads the value that was last set.
func ExampleScalar() {
	c, s, _, _, _ := open()
	step, err := graph.NewScalar(c, uint64(0))
	must(err)
	defer step.Close()
	seen, err := driver.Alloc[uint64](c, 1)
	must(err)
	defer seen.Close()
	look, err := driver.CopyDevice[uint64](seen, step)
	must(err)
	g, err := graphtest.Recorded(s, look)
	must(err)
	defer g.Close()
	x, err := g.Instantiate()
	must(err)
	defer x.Close()
	for i := range uint64(3) {
		must(step.Set(s, 10*i))
		must(x.Run(context.Background(), s))
		got := make([]uint64, 1)
		must(seen.CopyTo(got))
		fmt.Println(got[0])
	}
	// Output:
	// 0
	// 10
	// 20
}

// A graph allocates its output. The program owns it until the next launch.
func ExampleAddAlloc() {
	c, s, _, _, _ := open()
	g, err := graph.New(c)
	must(err)
	defer g.Close()
	op, err := driver.NewAlloc[uint32](c, nil, 4)
	must(err)
	out, n, err := graph.AddAlloc(g, op)
	must(err)
	defer out.Close()
	set, err := driver.Fill(out, uint32(7))
	must(err)
	_, err = g.Add(set, n)
	must(err)
	x, err := g.Instantiate(graph.WithAutoFree())
	must(err)
	defer x.Close()
	must(x.Run(context.Background(), s))
	must(x.Run(context.Background(), s))
	got := make([]uint32, 4)
	must(out.CopyTo(got))
	fmt.Println(got)
	// Output: [7 7 7 7]
}

// Recorded work and nodes added directly become one graph.
func ExampleWithTarget() {
	c, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)

	g, err := graph.New(c)
	must(err)
	defer g.Close()
	before, err := g.Add(add)
	must(err)
	var last []graph.Node
	_, err = graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Do(mul)
	}, graph.WithTarget(g, before), graph.WithLast(&last))
	must(err)
	_, err = g.Add(add, last...)
	must(err)

	x, err := g.Instantiate()
	must(err)
	defer x.Close()
	must(x.Run(context.Background(), s))
	fmt.Println(first(b))
	// Output: 32
}

// In a capture, concurrent branches do not need their own streams.
func ExampleScope_Parallel() {
	_, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems/2), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b.View(elems/2, elems), uint32(elems/2), uint32(10))
	must(err)

	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Parallel(
			func(sc *graph.Scope) error { return sc.Do(add) },
			func(sc *graph.Scope) error { return sc.Do(mul) })
	})
	must(err)
	defer g.Close()
	x, err := g.Instantiate()
	must(err)
	defer x.Close()
	must(x.Run(context.Background(), s))
	v := make([]uint32, elems)
	must(b.CopyTo(v))
	fmt.Println(v[0], v[elems-1])
	// Output: 3 10
}
