package view_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/view"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func branches() *graph.Graph {
	return branchesOn(emulator.Config{})
}

func branchesOn(config emulator.Config) *graph.Graph {
	c, _, plus, times, b := graphtest.OpenWith(config)
	one, err := driver.Fill[uint32](b, 1)
	must(err)
	add, err := plus.Prepare(graphtest.Config, b, uint32(graphtest.Elems), uint32(2))
	must(err)
	mul, err := times.Prepare(graphtest.Config, b, uint32(graphtest.Elems), uint32(10))
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

// Print a graph as a table.
func ExampleWriteTable() {
	s, err := branches().Snapshot()
	must(err)
	must(view.WriteTable(os.Stdout, s, view.Titled("branches")))
	// Output:
	// branches: 4 nodes, 4 edges, 1 root, 1 leaf, depth 3, width 2
	// 2 × kernel, 1 × empty, 1 × fill
	//
	// node  name       does    with                after
	// 0                fill    128 bytes with 0x1
	// 1     plus       kernel  grid 1 block 32     0
	// 2     ten times  kernel  grid 1 block 32     0
	// 3                empty                       1 2
}

// Markdown pages show Mermaid as a diagram.
func ExampleWriteMermaid() {
	s, err := branches().Snapshot()
	must(err)
	must(view.WriteMermaid(os.Stdout, s))
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

// Graphviz draws DOT. A node that is disabled in an Exec is dashed.
func ExampleWriteDOT() {
	x, err := branches().Instantiate()
	must(err)
	for n, err := range x.Graph().Nodes() {
		must(err)
		if n.Name() == "ten times" {
			must(x.Enable(n, false))
		}
	}
	s, err := x.Snapshot()
	must(err)
	must(view.WriteDOT(os.Stdout, s))
	// Output:
	// digraph "graph" {
	// 	label="graph";
	// 	labelloc=t;
	// 	compound=true;
	// 	node [shape=box, style="rounded,filled", fontname="sans-serif"];
	// 	n0 [label="0: fill", fillcolor="#d0e4f5"];
	// 	n1 [label="1: plus\nkernel", fillcolor="#d6e9c6"];
	// 	n2 [label="2: ten times\nkernel\noff", fillcolor="#d6e9c6", style="rounded,dashed"];
	// 	n3 [label="3: empty", fillcolor="#eeeeee"];
	// 	n0 -> n1;
	// 	n0 -> n2;
	// 	n1 -> n3;
	// 	n2 -> n3;
	// }
}

// Find the longest path through a graph with measured nodes.
// The cost model sets the times of the emulator, so that they are the same in every run.
func ExampleCriticalPath() {
	g := branchesOn(emulator.Config{CostModel: &emulator.CostModel{
		GraphKernel: 4 * time.Microsecond, Copy: 2 * time.Microsecond,
	}})
	stream, err := g.Context().NewStream()
	must(err)
	s, err := g.Profile(context.Background(), stream, graph.WithRounds(3))
	must(err)
	path, total := view.CriticalPath(s)
	for _, n := range path {
		fmt.Println("node", n.ID, n.Time)
	}
	fmt.Println(total)
	// Output:
	// node 0 2µs
	// node 1 4µs
	// node 3 0s
	// 6µs
}

func ExampleSummarize() {
	s, err := branches().Snapshot()
	must(err)
	sum := view.Summarize(s)
	fmt.Println(sum.Nodes, "nodes,", sum.Depth, "deep,", sum.Width, "wide,", sum.Kinds["kernel"], "kernels")
	// Output: 4 nodes, 3 deep, 2 wide, 2 kernels
}

// Each plan has a bar. The second plan may not use the open buffer of the first.
func ExampleWriteArena() {
	c, _, _, _, _ := graphtest.Open()
	a, err := arena.New(c)
	must(err)
	defer a.Close()
	first, err := a.Plan("first")
	must(err)
	_, err = arena.Alloc[float32](first, 200<<10)
	must(err)
	result, err := arena.Alloc[float32](first, 50<<10)
	must(err)
	must(first.Seal(result))
	second, err := a.Plan("second")
	must(err)
	_, err = arena.Alloc[float32](second, 150<<10)
	must(err)
	must(view.WriteArena(os.Stdout, a.Report()))
	must(errors.Join(second.Close(), first.Close()))
	// Output:
	// arena: 2 MiB in 1 chunk, 2 plans
	// first   .......................#######..............................  200 KiB, 0 graphs
	//         open: buffer of float32, 200 KiB at 800 KiB
	// second  ##################..........................................  600 KiB, 0 graphs
	//         open: buffer of float32, 600 KiB at 0 B
}
