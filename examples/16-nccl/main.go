// Command 16-nccl has several GPUs train on data of their own: each computes a
// gradient, NCCL adds the gradients up over all devices, and each takes a step.
// The whole step, the all-reduce with it, is captured into one graph over all
// devices. NCCL is opened when the program runs, through package loader; where it
// is not installed, or where there are not two GPUs, the program says so.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/view"
	"github.com/purecuda/cuda/loader"
)

//go:embed kernels.ptx
var ptx []byte

const (
	parameters = 10_000
	rate       = 0.5
	replays    = 9
	most       = 8 // devices
)

func main() { demo.Main("16-nccl", run) }

func run(d *demo.Demo) error {
	if d.Emulated {
		d.Printf("There is nothing to show: NCCL moves data between GPUs only.")
		return nil
	}
	contexts, err := d.Contexts(most)
	if err != nil {
		return err
	}
	if len(contexts) < 2 {
		d.Printf("There is nothing to show: two GPUs are needed at least, and there is one.")
		return nil
	}
	if runtime.GOOS != "linux" {
		d.Printf("There is nothing to show: NCCL exists for Linux only.")
		return nil
	}
	lib, version, err := openNCCL()
	if demo.NotInstalled(nccl, err) {
		d.Printf("There is nothing to show: NCCL is not installed. Install it (pip: nvidia-nccl-cu13, Debian: libnccl2), and have %s name the library if it is not found then.\n%v", nccl.Variable, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("NCCL cannot be used: %w", err)
	}
	d.Printf("NCCL %d.%d.%d", version/10000, version/100%100, version%100)
	return train(d, lib, contexts)
}

// train does with an NCCL what the example shows. The library is not closed:
// like the driver, it does not stand being unloaded.
func train(d *demo.Demo, lib loader.Library, contexts []*driver.Context) error {
	d.Printf("%d devices are connected by %s", len(contexts), lib.Name())
	t, err := newTraining(d, lib, contexts)
	if err != nil {
		return err
	}
	// Once without a graph: NCCL makes its connections when they are first used.
	if err := t.step(t.streams); err != nil {
		return err
	}
	if err := t.wait(); err != nil {
		return err
	}
	exec, err := t.capture()
	if err != nil {
		return err
	}
	begin := time.Now()
	for range replays {
		if err := exec.Launch(d.Stream); err != nil {
			return err
		}
	}
	if err := t.wait(); err != nil {
		return err
	}
	d.Printf("%d replays took %v", replays, time.Since(begin).Round(time.Microsecond))
	return t.check()
}

// training has for each device its copy of the parameters w, its own target, and
// the gradient that the devices exchange. The sum of all squared distances is
// least where w is the mean of the targets.
type training struct {
	*demo.Demo
	world       *world
	streams     []*driver.Stream
	w, gradient []*driver.Buffer[float32]
	before      []driver.Op // the gradient of each device
	after       []driver.Op // the step of each device
}

func newTraining(d *demo.Demo, lib loader.Library, contexts []*driver.Context) (*training, error) {
	t := &training{Demo: d}
	for rank, c := range contexts {
		if err := t.device(rank, c, len(contexts)); err != nil {
			return nil, err
		}
	}
	var err error
	if t.world, err = newWorld(lib, contexts); err != nil {
		return nil, err
	}
	d.Close(t.world) // after the graphs, which are made later
	return t, nil
}

// device makes what one device works with.
func (t *training) device(rank int, c *driver.Context, devices int) error {
	stream := t.Stream // the first device's
	var err error
	if rank > 0 {
		if stream, err = t.StreamOn(c); err != nil {
			return err
		}
	}
	t.streams = append(t.streams, stream)
	var buffers [3]*driver.Buffer[float32]
	for i := range buffers {
		if buffers[i], err = demo.MemoryOn[float32](t.Demo, c, parameters, 0); err != nil {
			return err
		}
	}
	w, gradient, target := buffers[0], buffers[1], buffers[2]
	if err := target.CopyFrom(targetOf(rank)); err != nil {
		return err
	}
	t.w, t.gradient = append(t.w, w), append(t.gradient, gradient)
	return t.launches(c, w, gradient, target, rate/float32(devices))
}

func (t *training) launches(c *driver.Context, w, gradient, target *driver.Buffer[float32], rate float32) error {
	var difference, descend *driver.Kernel
	if err := t.KernelsOn(c, ptx, map[string]**driver.Kernel{"difference": &difference, "descend": &descend}); err != nil {
		return err
	}
	cfg, n := demo.PerElement(parameters), uint32(parameters)
	before, err := difference.Prepare(cfg, driver.Out(gradient), driver.In(w), driver.In(target), n)
	if err != nil {
		return err
	}
	after, err := descend.Prepare(cfg, driver.InOut(w), driver.In(gradient), rate, n)
	t.before, t.after = append(t.before, before), append(t.after, after)
	return err
}

// target is a stream, or the scope of a capture.
type target interface{ Do(ops ...driver.Op) error }

// step sends one step of the training to the streams of all devices, or into
// their capture. NCCL is told the streams themselves.
func (t *training) step(to []*driver.Stream) error { return enqueue(t, to) }

func enqueue[T target](t *training, to []T) error {
	for i, op := range t.before {
		if err := to[i].Do(op); err != nil {
			return err
		}
	}
	if err := t.world.sum(t.gradient, t.streams); err != nil {
		return err
	}
	for i, op := range t.after {
		if err := to[i].Do(op); err != nil {
			return err
		}
	}
	return nil
}

// capture records the step on the first device's stream, which draws those of the
// others in.
func (t *training) capture() (*graph.Exec, error) {
	g, err := graph.Capture(t.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		scopes := []*graph.Scope{sc}
		for _, s := range t.streams[1:] {
			side, err := sc.Fork(s)
			if err != nil {
				return err
			}
			scopes = append(scopes, side)
		}
		return errors.Join(enqueue(t, scopes), sc.Join(scopes[1:]...))
	})
	if err != nil {
		return nil, err
	}
	t.Close(g)
	s, err := g.Snapshot()
	if err != nil {
		return nil, err
	}
	t.Printf("captured one graph over all devices: %v", view.Summarize(s))
	if len(s.Nodes) <= len(t.before)+len(t.after) {
		return nil, errors.New("the all-reduce is not in the graph")
	}
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	t.Close(exec)
	return exec, nil
}

func (t *training) wait() error {
	var errs []error
	for _, s := range t.streams {
		errs = append(errs, s.Wait(context.Background()))
	}
	return errors.Join(errs...)
}

// targetOf is what a device pulls the parameters to.
func targetOf(rank int) []float32 {
	list := make([]float32, parameters)
	for i := range list {
		list[i] = float32((i*(rank+1) + 7*rank) % 64)
	}
	return list
}

// check looks at the parameters of every device.
func (t *training) check() error {
	want := t.reference()
	got := make([]float32, parameters)
	for rank, w := range t.w {
		if err := w.CopyTo(got); err != nil {
			return err
		}
		for i, v := range got {
			if !(math.Abs(float64(v)-want[i]) < 1e-4) {
				return fmt.Errorf("wrong result: parameter %d of rank %d is %v, it should be %v", i, rank, v, want[i])
			}
		}
	}
	t.Printf("after %d steps the parameters are right on all %d devices", replays+1, len(t.w))
	return nil
}

// reference is where the parameters should be: every step goes the same part of
// the way from 0 to the mean of the targets that is left.
func (t *training) reference() []float64 {
	gone := 1 - math.Pow(1-rate, replays+1)
	want := make([]float64, parameters)
	for rank := range t.w {
		for i, v := range targetOf(rank) {
			want[i] += gone * float64(v) / float64(len(t.w))
		}
	}
	return want
}
