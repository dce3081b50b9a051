package graph_test

import (
	"os"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// branches is a graph of two kernels side by side.
func branches() *graph.Graph {
	c, _, plus, times, b := open()
	one, err := driver.Fill[uint32](b, 1)
	must(err)
	add, err := plus.Prepare(config, b, uint32(elems), uint32(2))
	must(err)
	mul, err := times.Prepare(config, b, uint32(elems), uint32(10))
	must(err)
	g, err := graph.New(c)
	must(err)
	fill, err := g.Add(one)
	must(err)
	left, err := g.Add(add, fill)
	must(err)
	right, err := g.Add(mul, fill)
	must(err)
	must(right.SetName("ten times"))
	_, err = g.AddEmpty(left, right)
	must(err)
	return g
}

// A summary is a table of what is in a graph.
func ExampleGraph_WriteSummary() {
	must(branches().WriteSummary(os.Stdout, graph.Titled("branches")))
	// Output:
	// branches: 4 nodes, 4 edges, 1 root, 1 leaf, depth 3, width 2
	// 2 × kernel, 1 × fill, 1 × empty
	//
	// node  name       does    with                after
	// 0                fill    128 bytes with 0x1
	// 1     plus       kernel  grid 1 block 32     0
	// 2     ten times  kernel  grid 1 block 32     0
	// 3                empty                       1 2
}

// Pages in Markdown show Mermaid as a drawing.
func ExampleGraph_WriteMermaid() {
	must(branches().WriteMermaid(os.Stdout))
	// Output:
	// ---
	// title: "graph"
	// ---
	// flowchart TD
	// 	n0["0: fill"]
	// 	n1["1: plus<br/>kernel"]
	// 	n2["2: ten times<br/>kernel"]
	// 	n3["3: empty"]
	// 	n0 --> n1
	// 	n0 --> n2
	// 	n1 --> n3
	// 	n2 --> n3
}
