package graph_test

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/graph"
)

// What is recorded and what is added by hand become one graph.
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

// Work that may run side by side needs no streams of its own in a capture.
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
