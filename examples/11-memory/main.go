// Command 11-memory allocates and frees memory in stream order. In pools.go, a stream
// allocates from a pool, which keeps freed memory until it is trimmed. In graphs.go, graph
// nodes allocate the temporary memory and the output. The program prints the cost of each
// way and how much memory the driver keeps.
package main

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

const elements = 10_000

func main() { demo.Main("11-memory", run) }

// example computes 2*3 + 1 with temporary memory for the two terms.
type example struct {
	*demo.Demo
	scale Scale // the kernels are in kernels.go
	add   Add
	out   *driver.Buffer[float32]
}

func run(d *demo.Demo) (err error) {
	e := &example{Demo: d}
	if e.scale, err = ScaleIn(d.Context); err != nil {
		return err
	}
	if e.add, err = AddIn(d.Context); err != nil {
		return err
	}
	if e.out, err = demo.Memory[float32](d, elements, 0); err != nil {
		return err
	}
	for _, show := range []func() error{e.pools, e.scratch, e.output} {
		if err := show(); err != nil {
			return err
		}
	}
	return nil
}

// program returns the operations. The buffers a and b are their temporary memory.
func (e *example) program(a, b *driver.Buffer[float32]) ([]driver.Op, error) {
	two, err := driver.Fill(a, float32(2))
	if err != nil {
		return nil, err
	}
	one, err := driver.Fill(b, float32(1))
	if err != nil {
		return nil, err
	}
	scale, err := e.scale.Op(e.scale.Grid(elements), a, 3)
	if err != nil {
		return nil, err
	}
	add, err := e.add.Op(e.add.Grid(elements), e.out, a, b)
	return []driver.Op{two, one, scale, add}, err
}

// is waits for the stream and checks that every element of the result is want.
func (e *example) is(want float32) error {
	if err := e.Stream.Wait(context.Background()); err != nil {
		return err
	}
	return demo.All(e.out, want)
}
