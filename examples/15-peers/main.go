// Command 15-peers uses two GPUs in one graph. Each GPU computes how heat spreads in one
// half of a rod. After each step, peer copies exchange the cells at the border. At the end,
// a kernel on the first GPU reads the second GPU's memory directly. A Flow derives all
// edges, including those between the GPUs. The emulator has two devices.
package main

import (
	"context"
	_ "embed"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
)

//go:embed kernels.ptx
var ptx []byte

const (
	cells   = 1000 // number of cells in each half
	steps   = 10   // number of steps in one graph; even, because now and next are swapped in each step
	replays = 5
)

func main() { demo.MainOn(2, "15-peers", run) }

func run(d *demo.Demo) error {
	contexts, err := d.Contexts(2)
	if err != nil {
		return err
	}
	if len(contexts) < 2 {
		d.Printf("There is nothing to show: two GPUs work together here, and there is one. -device emulator has two.")
		return nil
	}
	e, err := prepare(d, contexts)
	if err != nil {
		return err
	}
	exec, err := e.graph()
	if err != nil {
		return err
	}
	begin := time.Now()
	for range replays {
		if err := exec.Launch(d.Stream); err != nil {
			return err
		}
	}
	if err := d.Stream.Wait(context.Background()); err != nil {
		return err
	}
	return e.check(time.Since(begin))
}

// half is the part of the rod on one device. A step reads now and writes next. Both buffers have an
// extra cell at each end. The extra cell at the border between the halves holds a copy of the other
// half's border cell.
type half struct {
	ctx        *driver.Context
	heat, read *driver.Kernel
	now, next  *driver.Buffer[float32]
}

// graph creates one graph with the work of both devices.
func (e *example) graph() (*graph.Exec, error) {
	f := &flow{Flow: dataflow.New(e.Context)}
	for range steps {
		e.step(f)
	}
	e.gather(f)
	if f.err != nil {
		return nil, f.err
	}
	g, err := f.Build()
	if err != nil {
		return nil, err
	}
	e.Close(g)
	if err := e.describe(g); err != nil {
		return nil, err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	e.Close(exec)
	return exec, nil
}

// step adds one time step on both devices, and then the exchange of the border cells.
func (e *example) step(f *flow) {
	a, b := &e.halves[0], &e.halves[1]
	for _, h := range []*half{a, b} {
		f.add(h.heat.Prepare(demo.PerElement(cells), driver.Out(inner(h.next)), driver.In(h.now.All()), uint32(cells)))
	}
	f.add(driver.CopyDevice(cell(b.next, 0), cell(a.next, cells)))
	f.add(driver.CopyDevice(cell(a.next, cells+1), cell(b.next, 1)))
	for _, h := range []*half{a, b} {
		h.now, h.next = h.next, h.now
	}
}

// gather collects both halves on the first device. If that device can access the second one's
// memory, a kernel reads it directly. Otherwise a peer copy transfers the second half.
func (e *example) gather(f *flow) {
	cfg, n := demo.PerElement(cells), uint32(cells)
	for i, h := range e.halves {
		to, from := e.rod.View(i*cells, (i+1)*cells), inner(h.now)
		if i == 0 || e.direct {
			f.add(e.halves[0].read.Prepare(cfg, driver.Out(to), driver.In(from), n))
		} else {
			f.add(driver.CopyDevice(to, from))
		}
	}
}
