// Command 06-update changes an executable graph without instantiating it again. First it changes
// the arguments of one node, and then it updates all nodes from another graph. CUDA rejects an
// update from a graph with different nodes or edges, so the program instantiates that graph.
package main

import (
	"fmt"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

func main() { demo.Main("06-update", run) }

// run computes x = 2*x + step on every element, for several steps. A graph has one kernel launch
// for each step, with the step as an argument.
func run(d *demo.Demo) error {
	affine, err := AffineIn(d.Context)
	if err != nil {
		return err
	}
	e := example{Demo: d, affine: affine}
	if e.x, err = demo.Memory[float32](d, elements, 1); err != nil {
		return err
	}
	g, err := e.graph(1, 10) // a kernel with step 1, then one with step 10
	if err != nil {
		return err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	d.Close(exec)
	if err := e.replay(exec, "as it was made", 1, 16); err != nil { // 2*(2*1+1)+10
		return err
	}
	if err := e.oneNode(g, exec); err != nil {
		return err
	}
	if err := e.wholeGraph(exec); err != nil {
		return err
	}
	return e.anotherGraph(exec)
}

// oneNode changes the arguments of the first kernel node.
func (e *example) oneNode(g *graph.Graph, exec *graph.Exec) error {
	var first graph.Node
	for n, err := range g.Roots() {
		if err != nil {
			return err
		}
		first = n
	}
	op, err := e.launch(5)
	if err != nil {
		return err
	}
	if err := exec.Set(first, op); err != nil {
		return err
	}
	return e.replay(exec, "one node changed", 1, 24) // 2*(2*1+5)+10
}

// wholeGraph updates all parameters from a new graph with the same nodes and edges.
func (e *example) wholeGraph(exec *graph.Exec) error {
	g, err := e.graph(3, 4)
	if err != nil {
		return err
	}
	result, err := exec.Update(g)
	if err != nil {
		return err
	}
	if !result.Updated() {
		return fmt.Errorf("the same form, and %v", result)
	}
	return e.replay(exec, "the whole graph updated", 1, 14) // 2*(2*1+3)+4
}

// anotherGraph captures a graph with one more kernel, so CUDA cannot apply the update. Update
// reports that in its result, not as an error. With WithReinstantiate, Update instantiates the new
// graph instead.
func (e *example) anotherGraph(exec *graph.Exec) error {
	g, err := e.graph(1, 1, 1)
	if err != nil {
		return err
	}
	result, err := exec.Update(g)
	if err != nil {
		return err
	}
	e.Printf("one kernel more: %v", result)
	if result.Updated() {
		return fmt.Errorf("a graph with another number of nodes was taken for an update")
	}
	applied, err := exec.Update(g, graph.WithReinstantiate())
	if err != nil {
		return err
	}
	if !applied.Reinstantiated {
		return fmt.Errorf("applied without instantiating: %v", applied)
	}
	return e.replay(exec, "instantiated anew", 1, 15) // ((1*2+1)*2+1)*2+1
}
