package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// open gives the examples a context, a stream, kernels and memory of ones.
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

// Record what is sent to a stream, and replay it.
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

// Build a graph node by node, change an argument of a node and replay.
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

// Bring an executable graph to whatever the next step needs: by an update
// where that is possible, else by making it anew.
func ExampleWithReinstantiate() {
	_, s, plus, _, b := open()
	step := func(values ...uint32) *graph.Graph {
		var ops []driver.Op
		for _, v := range values {
			op, err := plus.Prepare(config, b, uint32(elems), v)
			must(err)
			ops = append(ops, op)
		}
		g, err := graphOf(s, ops...)
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
	// not updated: the nodes or their dependencies are others; instantiated anew 26
}

// Build the graph of every step anew from a list that was checked once.
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
		must(driver.SetArg(add, 2, v)) // the next AddPlan adds it so
		g, err := graph.New(c)
		must(err)
		once, err := g.AddPlan(plan)
		must(err)
		_, err = g.AddPlan(plan, once.At(1)) // once more, after the first time
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
