// Command 06-update changes an executable graph without making it anew: one
// node, the whole graph, and a graph that has become another one.
package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

//go:embed kernels.ptx
var ptx []byte

const elements = 1000

func main() { demo.Main("06-update", run) }

// example is x = a*x + b, some times over.
type example struct {
	*demo.Demo
	kernel *driver.Kernel
	x      *driver.Buffer[float32]
}

func run(d *demo.Demo) error {
	e := example{Demo: d}
	err := d.Kernels(ptx, map[string]**driver.Kernel{"affine": &e.kernel})
	if err != nil {
		return err
	}
	if e.x, err = demo.Memory[float32](d, elements, 1); err != nil {
		return err
	}
	// Each step is one argument of a kernel: x = 2*x + step.
	g, err := e.graph(1, 10)
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

// oneNode gives one kernel other arguments.
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

// wholeGraph brings the Exec to what a graph of the same form says.
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

// anotherGraph has one kernel more. That cannot be an update, which is an answer
// and no error; Apply does what is necessary.
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

// graph captures a kernel for each step.
func (e *example) graph(steps ...float32) (*graph.Graph, error) {
	g, err := graph.Capture(e.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		for _, s := range steps {
			op, err := e.launch(s)
			if err != nil {
				return err
			}
			if err := sc.Do(op); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.Close(g)
	}
	return g, err
}

func (e *example) launch(step float32) (*driver.Launch, error) {
	return e.kernel.Prepare(demo.PerElement(elements), e.x, uint32(elements), float32(2), step)
}

// replay runs the graph on elements of value from.
func (e *example) replay(exec *graph.Exec, what string, from, want float32) error {
	if err := e.x.Fill(from); err != nil {
		return err
	}
	if err := exec.Run(context.Background(), e.Stream); err != nil {
		return err
	}
	if err := demo.All(e.x, want); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	e.Printf("%s: every element is %v", what, want)
	return nil
}
