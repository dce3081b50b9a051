// Command 05-manual builds a graph node by node: a fill, two kernels that depend on it and
// may overlap, and a kernel that depends on both.
package main

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

const elements = 1000

func main() { demo.Main("05-manual", run) }

func run(d *demo.Demo) error {
	ops, result, err := prepare(d)
	if err != nil {
		return err
	}
	g, err := graph.New(d.Context)
	if err != nil {
		return err
	}
	d.Close(g)
	if err := diamond(g, ops); err != nil {
		return err
	}
	for e, err := range g.Edges() {
		if err != nil {
			return err
		}
		d.Printf("%v runs after %v", e.To, e.From)
	}

	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	d.Close(exec)
	if err := exec.Run(context.Background(), d.Stream); err != nil {
		return err
	}
	d.Printf("2 * 3 + 2 * 4 is 14 in each of %d elements", elements)
	return demo.All(result, 14)
}

// operations are values that describe work without running it. They could also be enqueued
// in a stream or captured.
type operations struct{ fill, left, right, join driver.Op }

func prepare(d *demo.Demo) (ops operations, result *driver.Buffer[float32], err error) {
	scale, err := ScaleIn(d.Context) // the kernels are in kernels.go
	if err != nil {
		return ops, nil, err
	}
	add, err := AddIn(d.Context)
	if err != nil {
		return ops, nil, err
	}
	var b [4]*driver.Buffer[float32]
	for i := range b {
		if b[i], err = demo.Memory[float32](d, elements, 0); err != nil {
			return ops, nil, err
		}
	}
	in, left, right, result := b[0], b[1], b[2], b[3]
	if ops.fill, err = driver.Fill[float32](in, 2); err != nil {
		return ops, nil, err
	}
	if ops.left, err = scale.Op(scale.Grid(elements), left, in, 3); err != nil {
		return ops, nil, err
	}
	if ops.right, err = scale.Op(scale.Grid(elements), right, in, 4); err != nil {
		return ops, nil, err
	}
	ops.join, err = add.Op(add.Grid(elements), result, left, right)
	return ops, result, err
}

// diamond adds each operation as a node. The arguments after the operation are the nodes
// that it depends on.
func diamond(g *graph.Graph, ops operations) error {
	fill, err := node(g, "fill", ops.fill)
	if err != nil {
		return err
	}
	left, err := node(g, "left", ops.left, fill)
	if err != nil {
		return err
	}
	right, err := node(g, "right", ops.right, fill)
	if err != nil {
		return err
	}
	_, err = node(g, "join", ops.join, left, right)
	return err
}

// node adds a named node. Errors and drawings of the graph show the name.
func node(g *graph.Graph, name string, op driver.Op, after ...graph.Node) (graph.Node, error) {
	n, err := g.Add(op, after...)
	if err != nil {
		return n, err
	}
	return n, n.SetName(name)
}
