package main

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/view"
)

// example holds the two halves of the rod, and memory for the whole rod on the first device.
type example struct {
	*demo.Demo
	halves [2]half
	rod    *driver.Buffer[float32]
	direct bool // the first device can access the second one's memory
}

// prepare creates a half on each device. At the start, only the last cell of the first half
// is hot.
func prepare(d *demo.Demo, contexts []*driver.Context) (e *example, err error) {
	e = &example{Demo: d}
	for i, c := range contexts {
		h := &e.halves[i]
		h.ctx = c
		if err := e.KernelsOn(c, ptx, map[string]**driver.Kernel{"heat": &h.heat, "read": &h.read}); err != nil {
			return nil, err
		}
		for _, b := range []**driver.Buffer[float32]{&h.now, &h.next} {
			if *b, err = demo.MemoryOn[float32](e.Demo, c, cells+2, 0); err != nil {
				return nil, err
			}
		}
	}
	if err := e.halves[0].now.CopyFrom(start()[:cells+2]); err != nil {
		return nil, err
	}
	if err := e.halves[1].now.CopyFrom(start()[cells:]); err != nil {
		return nil, err
	}
	if e.rod, err = demo.Memory[float32](e.Demo, 2*cells, 0); err != nil {
		return nil, err
	}
	return e, e.enable()
}

// enable allows the first device to access the second one's memory, if the hardware supports
// it.
func (e *example) enable() (err error) {
	first, second := e.halves[0].ctx, e.halves[1].ctx
	if e.direct, err = first.Device().CanAccessPeer(second.Device()); err != nil {
		return err
	}
	if !e.direct {
		e.Printf("%v cannot reach the memory of %v: copies go through the host", first.Device(), second.Device())
		return nil
	}
	e.Printf("%v reaches the memory of %v", first.Device(), second.Device())
	return first.EnablePeerAccess(second)
}

// start returns the initial temperatures of the rod, with an extra cold cell at each end.
func start() []float32 {
	rod := make([]float32, 2*cells+2)
	rod[cells] = 1000
	return rod
}

// flow is a dataflow.Flow that keeps its first error.
type flow struct {
	*dataflow.Flow
	err error
}

func (f *flow) add(op driver.Op, err error) {
	if f.err == nil && err == nil {
		_, err = f.Add(op)
	}
	if f.err == nil {
		f.err = err
	}
}

// inner returns the cells of a half, without the copies at its ends.
func inner(b *driver.Buffer[float32]) driver.View[float32] { return b.View(1, cells+1) }

func cell(b *driver.Buffer[float32], i int) driver.View[float32] { return b.View(i, i+1) }

func (e *example) describe(g *graph.Graph) error {
	s, err := g.Snapshot()
	if err != nil {
		return err
	}
	e.Printf("one graph for both devices: %v", view.Summarize(s))
	return nil
}
