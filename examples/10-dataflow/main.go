// Command 10-dataflow lists operations in program order. From the memory that the operations read
// and write, a Flow derives which of them may overlap. Check finds a missing edge in a graph built
// by hand.
package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/dataflow"
)

const (
	parts    = 4
	elements = 250 // number of elements in one part
)

func main() { demo.Main("10-dataflow", run) }

// example holds an input and an output buffer, both divided into parts.
type example struct {
	*demo.Demo
	scale   Scale // the kernels are in kernels.go
	add     Add
	in, out *driver.Buffer[float32]
}

func run(d *demo.Demo) (err error) {
	e := &example{Demo: d}
	if e.scale, err = ScaleIn(d.Context); err != nil {
		return err
	}
	if e.add, err = AddIn(d.Context); err != nil {
		return err
	}
	for _, b := range []**driver.Buffer[float32]{&e.in, &e.out} {
		if *b, err = demo.Memory[float32](d, parts*elements, 0); err != nil {
			return err
		}
	}
	return errors.Join(e.flow(), e.check())
}

func part(b *driver.Buffer[float32], i int) driver.View[float32] {
	return b.View(i*elements, (i+1)*elements)
}

// program lists the work: fill and scale each part, and then add the parts in pairs. The operations
// of a kernel know which arguments it only reads, because go2ptx found that out.
func (e *example) program() ([]driver.Op, error) {
	var p list
	for i := range parts {
		p.add(driver.Fill[float32](part(e.in, i), float32(i+1)))
		p.add(e.scale.Op(e.scale.Grid(elements), part(e.out, i), part(e.in, i), 10))
	}
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		p.add(e.add.Op(e.add.Grid(elements), part(e.out, pair[0]), part(e.out, pair[1])))
	}
	return p.ops, p.err
}

// flow adds the operations in program order and prints the dependencies of each.
func (e *example) flow() error {
	ops, err := e.program()
	if err != nil {
		return err
	}
	flow := dataflow.New(e.Context)
	var c chains
	for i, op := range ops {
		step, err := flow.Add(op)
		if err != nil {
			return err
		}
		e.Printf("%2d %v after %v", i, op, step.Dependencies())
		c.add(step.Dependencies())
	}
	e.Printf("%d operations, the longest chain has %d", len(ops), c.longest)
	if c.longest != 4 {
		return errors.New("it should have 4: fill, scale and two additions")
	}
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
	return e.run(exec)
}
