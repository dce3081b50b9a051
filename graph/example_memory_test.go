package graph_test

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// Each replay finds the value that was set before it.
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
	g, err := graphOf(s, look)
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

// A graph allocates its output; it is the program's until the next launch.
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
