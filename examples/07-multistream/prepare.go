package main

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

const (
	elements = 300
	rounds   = 200
)

// example holds two buffers, in which kernels count, and page-locked memory for a copy of the first
// buffer.
type example struct {
	*demo.Demo
	a, b           *driver.Buffer[uint32]
	host           *driver.HostBuffer[uint32]
	countA, countB *driver.Launch
	download       *driver.CopyOp
	side           *driver.Stream
}

func prepare(d *demo.Demo) (*example, error) {
	e := &example{Demo: d}
	count, err := CountIn(d.Context)
	if err != nil {
		return nil, err
	}
	if e.a, err = demo.Memory[uint32](d, elements, 0); err != nil {
		return nil, err
	}
	if e.b, err = demo.Memory[uint32](d, elements, 0); err != nil {
		return nil, err
	}
	if e.host, err = driver.AllocHost[uint32](d.Context, elements); err != nil {
		return nil, err
	}
	d.Close(e.host)
	if e.countA, err = count.Op(count.Grid(elements), e.a, rounds); err != nil {
		return nil, err
	}
	if e.countB, err = count.Op(count.Grid(elements), e.b, rounds); err != nil {
		return nil, err
	}
	if e.download, err = driver.Download[uint32](e.host, e.a); err != nil {
		return nil, err
	}
	e.side, err = d.NewStream()
	return e, err
}

// branches checks that the graph has two branches: two nodes must depend on the first
// kernel.
func (e *example) branches(g *graph.Graph) error {
	n := 0
	for _, err := range g.Edges() {
		if err != nil {
			return err
		}
		n++
	}
	e.Printf("the captured graph has %d branches after the first kernel", n)
	if n != 2 {
		return errors.New("it should have two")
	}
	return nil
}

// copied checks the values of the latest copy in host memory.
func (e *example) copied(want uint32) error {
	for i, v := range e.host.Slice() {
		if v != want {
			return fmt.Errorf("wrong result: element %d of the copy is %d, it should be %d", i, v, want)
		}
	}
	return nil
}
