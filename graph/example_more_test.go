package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A capture for code that fits into no function ends on every path.
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

// Arguments that change with each launch are bound once, and sent with it.
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

// A parameter is bound by its name where the PTX has one.
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

// A condition is set by a kernel, and looked at by the node.
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

// A loop of exactly three rounds.
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

// Check finds nodes that touch the same memory without an order between them.
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

// A snapshot is a graph as data: what is in it, and what runs after what.
func ExampleGraph_Snapshot() {
	_, s, plus, times, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)
	g, err := graphOf(s, add, mul)
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

// How long each node takes on the device.
func ExampleGraph_Profile() {
	_, s, plus, _, b := open()
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	g, err := graphOf(s, add)
	must(err)
	p, err := g.Profile(context.Background(), s, graph.WithRounds(3))
	must(err)
	fmt.Println(p.Profile.Rounds, "rounds;", p.Profile.Run > 0, p.Nodes[0].Timed)
	// Output: 3 rounds; true true
}

// Whether an Exec can do what another graph does is an answer, not an error.
func ExampleExec_Update() {
	_, s, plus, _, b := open()
	record := func(n int) *graph.Graph {
		add, err := plus.Prepare(config, b, uint32(elems), uint32(n))
		must(err)
		ops := make([]driver.Op, n)
		for i := range ops {
			ops[i] = add
		}
		g, err := graphOf(s, ops...)
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
	// false not updated: the nodes or their dependencies are others
}

// A pool keeps what several graphs use, though its owner closes it.
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

// The launch of an executable graph is an operation like others: sent to a stream,
// or part of another graph.
func ExampleExec_Op() {
	_, s, plus, _, b := open() // b holds ones
	addTwo, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	inner, err := graphOf(s, addTwo, addTwo)
	must(err)
	step, err := inner.Instantiate()
	must(err)
	must(s.Do(step.Op()))
	outer, err := graphOf(s, step.Op(), addTwo)
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

// The nodes that a plan was added as, in the order of its items.
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
