// Command 04-capture records twenty kernel launches as a graph and replays them. It shows
// both ways to capture: with a function, and with Begin and End.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

const (
	elements = 300
	kernels  = 20
	replays  = 50
)

func main() { demo.Main("04-capture", run) }

func run(d *demo.Demo) error {
	affine, err := AffineIn(d.Context) // the kernel in kernels.go
	if err != nil {
		return err
	}
	x, err := demo.Memory[float32](d, elements, 0)
	if err != nil {
		return err
	}
	plusOne, err := affine.Op(affine.Grid(elements), x, 1, 1) // x = 1*x + 1
	if err != nil {
		return err
	}

	// Capture calls the function and always ends the capture, even after an error or a
	// panic.
	g, err := graph.Capture(d.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		for range kernels {
			if err := sc.Do(plusOne); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Close(g)
	n, err := g.Len()
	if err != nil {
		return err
	}
	d.Printf("captured a graph of %d nodes; nothing ran", n)
	if err := demo.All(x, 0); err != nil {
		return err
	}

	// An executable graph can be launched any number of times. WithUpload copies it to the
	// device now, so the first launch takes no longer than the others.
	exec, err := g.Instantiate(graph.WithUpload(d.Stream))
	if err != nil {
		return err
	}
	d.Close(exec)
	begin := time.Now()
	for range replays {
		if err := exec.Launch(d.Stream); err != nil {
			return err
		}
	}
	host := time.Since(begin)
	if err := exec.Wait(context.Background()); err != nil {
		return err
	}
	if err := demo.All(x, kernels*replays); err != nil {
		return err
	}
	d.Printf("%d replays of it: every element is %d", exec.Replays(), kernels*replays)
	if !d.Emulated {
		d.Printf("a launch of %d kernels took %v of host time", kernels, host/replays)
	}

	return byHand(d, plusOne, x)
}

// byHand captures with Begin and End. Abort ends the capture if an error prevents End.
func byHand(d *demo.Demo, op driver.Op, x *driver.Buffer[float32]) error {
	r, err := graph.Begin(d.Stream, graph.ModeGlobal)
	if err != nil {
		return err
	}
	err = errors.Join(r.Scope().Do(op), r.Scope().Do(op))
	if err != nil {
		return errors.Join(err, r.Abort())
	}
	g, err := r.End()
	if err != nil {
		return err
	}
	d.Close(g)
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	d.Close(exec)
	if err := exec.Run(context.Background(), d.Stream); err != nil {
		return err
	}
	d.Printf("begin and end: two more kernels")
	return demo.All(x, kernels*replays+2)
}
