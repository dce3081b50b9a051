package main

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/loader"
)

const (
	parameters = 10_000
	rate       = 0.5
)

// training holds the data of each device: a copy of the parameters w, a target, and the gradient
// that the devices exchange. The training minimises the sum of the squared distances of w from the
// targets, which is smallest if w is the mean of the targets.
type training struct {
	*demo.Demo
	world       *world
	streams     []*driver.Stream
	w, gradient []*driver.Buffer[float32]
	before      []driver.Op // operations that compute the gradient, one for each device
	after       []driver.Op // operations that update the parameters, one for each device
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
	d.Close(t.world) // registered before the graphs, so it is closed after them
	return t, nil
}

// device creates the stream, the memory and the operations of one device.
func (t *training) device(rank int, c *driver.Context, devices int) error {
	stream := t.Stream // the first device already has a stream
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
