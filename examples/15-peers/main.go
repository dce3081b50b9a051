// Command 15-peers has two GPUs share the work of one graph: each computes how
// heat spreads in one half of a rod, and after each step a peer copy brings the
// cell at the border to the other device. In the end a kernel of the first device
// reads the second one's memory directly. A Flow derives all edges, those between
// the devices too. The emulator has two devices.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/view"
)

//go:embed kernels.ptx
var ptx []byte

const (
	cells   = 1000 // of a half
	steps   = 10   // of the graph; even, so that the last one writes where the first one reads
	replays = 5
)

func main() { demo.MainOn(2, "15-peers", run) }

// half is a device's part of the rod: what the odd and the even steps read, with
// a cell more at each end that belongs to the neighbour.
type half struct {
	ctx        *driver.Context
	heat, read *driver.Kernel
	now, next  *driver.Buffer[float32]
}

// example has the whole rod on the first device for the end.
type example struct {
	*demo.Demo
	halves [2]half
	rod    *driver.Buffer[float32]
	direct bool // whether the first device reads the second one's memory
}

func run(d *demo.Demo) error {
	contexts, err := d.Contexts(2)
	if err != nil {
		return err
	}
	if len(contexts) < 2 {
		d.Printf("There is nothing to show: two GPUs work together here, and there is one. -device emulator has two.")
		return nil
	}
	e := &example{Demo: d}
	if err := e.prepare(contexts); err != nil {
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
	if !d.Emulated {
		d.Printf("%d replays took %v", replays, time.Since(begin).Round(time.Microsecond))
	}
	return e.check()
}

// prepare gives each device its half; all heat is in the last cell of the first.
func (e *example) prepare(contexts []*driver.Context) (err error) {
	for i, c := range contexts {
		h := &e.halves[i]
		h.ctx = c
		if err := e.KernelsOn(c, ptx, map[string]**driver.Kernel{"heat": &h.heat, "read": &h.read}); err != nil {
			return err
		}
		for _, b := range []**driver.Buffer[float32]{&h.now, &h.next} {
			if *b, err = demo.MemoryOn[float32](e.Demo, c, cells+2, 0); err != nil {
				return err
			}
		}
	}
	if err := e.halves[0].now.CopyFrom(start()[:cells+2]); err != nil {
		return err
	}
	if err := e.halves[1].now.CopyFrom(start()[cells:]); err != nil {
		return err
	}
	if e.rod, err = demo.Memory[float32](e.Demo, 2*cells, 0); err != nil {
		return err
	}
	return e.enable()
}

// enable lets the first device reach the memory of the second, if it can.
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

// graph is one graph with the work of both devices.
func (e *example) graph() (*graph.Exec, error) {
	flow := graph.NewFlow(e.Context)
	for range steps {
		if err := e.step(flow); err != nil {
			return nil, err
		}
	}
	if err := e.gather(flow); err != nil {
		return nil, err
	}
	g, err := flow.Build()
	if err != nil {
		return nil, err
	}
	e.Close(g)
	s, err := g.Snapshot()
	if err != nil {
		return nil, err
	}
	e.Printf("one graph for both devices: %v", view.Summarize(s))
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	e.Close(exec)
	return exec, nil
}

// step has both devices compute, and then exchange the cells at the border.
func (e *example) step(flow *graph.Flow) error {
	a, b := &e.halves[0], &e.halves[1]
	for _, h := range []*half{a, b} {
		heat, err := h.heat.Prepare(demo.PerElement(cells), driver.Out(inner(h.next)), driver.In(h.now.All()), uint32(cells))
		if err := add(flow, heat, err); err != nil {
			return err
		}
	}
	toB, err := driver.CopyDevice(cell(b.next, 0), cell(a.next, cells))
	if err := add(flow, toB, err); err != nil {
		return err
	}
	toA, err := driver.CopyDevice(cell(a.next, cells+1), cell(b.next, 1))
	if err := add(flow, toA, err); err != nil {
		return err
	}
	for _, h := range []*half{a, b} {
		h.now, h.next = h.next, h.now
	}
	return nil
}

// gather brings the halves together on the first device: by a kernel that reads
// the second one's memory, or by a copy.
func (e *example) gather(flow *graph.Flow) error {
	cfg, n := demo.PerElement(cells), uint32(cells)
	for i, h := range e.halves {
		to, from := e.rod.View(i*cells, (i+1)*cells), inner(h.now)
		var op driver.Op
		var err error
		if i == 0 || e.direct {
			op, err = e.halves[0].read.Prepare(cfg, driver.Out(to), driver.In(from), n)
		} else {
			op, err = driver.CopyDevice(to, from)
		}
		if err := add(flow, op, err); err != nil {
			return err
		}
	}
	return nil
}

// add adds an operation, unless it could not be made.
func add(flow *graph.Flow, op driver.Op, err error) error {
	if err == nil {
		_, err = flow.Add(op)
	}
	return err
}

// inner are the cells of a half that are its own.
func inner(b *driver.Buffer[float32]) driver.View[float32] { return b.View(1, cells+1) }

func cell(b *driver.Buffer[float32], i int) driver.View[float32] { return b.View(i, i+1) }

// start is the rod at first, with a cold cell at each end.
func start() []float32 {
	rod := make([]float32, 2*cells+2)
	rod[cells] = 1000
	return rod
}

// check compares the rod with the same steps on the CPU.
func (e *example) check() error {
	got := make([]float32, 2*cells)
	if err := e.rod.CopyTo(got); err != nil {
		return err
	}
	crossed := 0.0
	for i, want := range reference()[1 : 2*cells+1] {
		if got[i] != want {
			return fmt.Errorf("wrong result: cell %d is %v, it should be %v", i, got[i], want)
		}
		if i >= cells {
			crossed += float64(want) / 10
		}
	}
	e.Printf("after %d steps %.1f%% of the heat is on the other device, and all cells are right", steps*replays, crossed)
	return nil
}

func reference() []float32 {
	now, next := start(), make([]float32, 2*cells+2)
	for range steps * replays {
		for i := 1; i <= 2*cells; i++ {
			sides := now[i-1] + now[i+1]
			next[i] = sides/4 + now[i]/2 // divisions by powers of two round nothing here
		}
		now, next = next, now
	}
	return now
}
