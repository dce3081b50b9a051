// Command 10-dataflow writes operations down in the order of a plain program and
// lets a Flow find out, from the memory they read and write, which of them may
// run side by side. Check finds an edge that was forgotten where a graph is built
// by hand.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

//go:embed kernels.ptx
var ptx []byte

const (
	parts    = 4
	elements = 250 // of a part
)

func main() { demo.Main("10-dataflow", run) }

// example has one buffer for the input and one for what becomes of it; each part
// of the work has its part of them.
type example struct {
	*demo.Demo
	scale, add *driver.Kernel
	in, out    *driver.Buffer[float32]
}

func run(d *demo.Demo) (err error) {
	e := &example{Demo: d}
	if err := d.Kernels(ptx, map[string]**driver.Kernel{"scale": &e.scale, "add": &e.add}); err != nil {
		return err
	}
	for _, b := range []**driver.Buffer[float32]{&e.in, &e.out} {
		if *b, err = demo.Memory[float32](d, parts*elements, 0); err != nil {
			return err
		}
	}
	return errors.Join(e.flow(), e.check())
}

// part is one part's view of a buffer.
func part(b *driver.Buffer[float32], i int) driver.View[float32] {
	return b.View(i*elements, (i+1)*elements)
}

// program is the work as one would write it down: fill and scale each part, then
// add them up in pairs. In, Out and InOut say what a kernel does to an argument.
func (e *example) program() (ops []driver.Op, err error) {
	cfg, n := demo.PerElement(elements), uint32(elements)
	take := func(op driver.Op, failed error) {
		ops = append(ops, op)
		if err == nil {
			err = failed
		}
	}
	for i := range parts {
		fill, failed := driver.Fill[float32](part(e.in, i), float32(i+1))
		take(fill, failed)
		scale, failed := e.scale.Prepare(cfg, driver.Out(part(e.out, i)), driver.In(part(e.in, i)), float32(10), n)
		take(scale, failed)
	}
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		sum := part(e.out, pair[0])
		add, failed := e.add.Prepare(cfg, driver.InOut(sum), driver.In(sum), driver.In(part(e.out, pair[1])), n)
		take(add, failed)
	}
	return ops, err
}

func (e *example) flow() error {
	ops, err := e.program()
	if err != nil {
		return err
	}
	flow := graph.NewFlow(e.Context)
	depth, longest := make([]int, len(ops)), 0
	for i, op := range ops {
		step, err := flow.Add(op)
		if err != nil {
			return err
		}
		depth[i] = 1
		for _, before := range step.Dependencies() {
			depth[i] = max(depth[i], depth[before]+1)
		}
		longest = max(longest, depth[i])
		e.Printf("%2d %v after %v", i, op, step.Dependencies())
	}
	e.Printf("%d operations, the longest chain has %d", len(ops), longest)
	if longest != 4 {
		return fmt.Errorf("it should have 4: fill, scale and two additions")
	}
	return e.run(flow)
}

func (e *example) run(flow *graph.Flow) error {
	g, err := flow.Build()
	if err != nil {
		return err
	}
	e.Close(g)
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	e.Close(exec)
	if err := exec.Run(context.Background(), e.Stream); err != nil {
		return err
	}
	got := make([]float32, elements)
	if err := part(e.out, 0).CopyTo(got); err != nil {
		return err
	}
	for i, v := range got {
		if v != 100 {
			return fmt.Errorf("wrong result: element %d is %v, it should be 100", i, v)
		}
	}
	e.Printf("10 + 20 + 30 + 40 is 100 in each of %d elements", elements)
	return nil
}
