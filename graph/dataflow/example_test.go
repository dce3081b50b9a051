package dataflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// Edges follow from the memory that operations use.
func ExampleFlow() {
	c, s, plus, times, b := graphtest.Open()
	left, right := b.View(0, graphtest.Elems/2), b.View(graphtest.Elems/2, graphtest.Elems)
	add, err := plus.Prepare(graphtest.Config, left, uint32(graphtest.Elems/2), uint32(2))
	must(err)
	mul, err := times.Prepare(graphtest.Config, right, uint32(graphtest.Elems/2), uint32(3))
	must(err)
	all, err := times.Prepare(graphtest.Config, b, uint32(graphtest.Elems), uint32(10))
	must(err)

	f := dataflow.New(c)
	for _, op := range []driver.Op{add, mul, all} {
		step, err := f.Add(op)
		must(err)
		fmt.Println("step", step.Index(), "runs after", step.Dependencies())
	}
	g, err := f.Build()
	must(err)
	x, err := g.Instantiate()
	must(err)
	must(x.Run(context.Background(), s))
	v := make([]uint32, b.Len())
	must(b.CopyTo(v))
	fmt.Println(v[0])
	// Output:
	// step 0 runs after []
	// step 1 runs after []
	// step 2 runs after [0 1]
	// 30
}

// For a dependency that no memory access shows, use After.
func ExampleStep() {
	c, _, plus, times, b := graphtest.Open()
	left, right := b.View(0, graphtest.Elems/2), b.View(graphtest.Elems/2, graphtest.Elems)
	add, err := plus.Prepare(graphtest.Config, left, uint32(graphtest.Elems/2), uint32(2))
	must(err)
	mul, err := times.Prepare(graphtest.Config, right, uint32(graphtest.Elems/2), uint32(3))
	must(err)
	f := dataflow.New(c)
	one, err := f.Add(add)
	must(err)
	two, err := f.Add(mul)
	must(err)
	must(two.After(one))
	fmt.Println(two.Dependencies())
	// Output: [0]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
