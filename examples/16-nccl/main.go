// Command 16-nccl trains on several GPUs, each with its own data. Each device computes
// a gradient, NCCL adds up the gradients of all devices, and each device takes a step.
// One graph over all devices holds the whole step, with the all-reduce.
//
// NCCL is opened at run time through package loader. nccl.go declares what the program
// calls. Without NCCL, or with only one GPU, the program says so.
package main

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/loader"
)

//go:embed kernels.ptx
var ptx []byte

const replays = 9

func main() { demo.Main("16-nccl", run) } // run opens NCCL and calls train

// train leaves the library open: like the driver, NCCL cannot be unloaded.
func train(d *demo.Demo, lib loader.Library, contexts []*driver.Context) error {
	d.Printf("%d devices are connected by %s", len(contexts), lib.Name())
	t, err := newTraining(d, lib, contexts)
	if err != nil {
		return err
	}
	// First without a graph, because NCCL connects the devices when it is first used.
	if err := enqueue(t, t.streams); err != nil {
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

// target is a stream, or the scope of a capture.
type target interface{ Do(ops ...driver.Op) error }

// enqueue enqueues one step of the training, or records it. The two operations of our
// own go to the targets. NCCL gets the streams themselves and records if they capture.
func enqueue[T target](t *training, to []T) error {
	for i, gradient := range t.before {
		if err := to[i].Do(gradient); err != nil {
			return err
		}
	}
	if err := t.world.sum(t.gradient, t.streams); err != nil {
		return err
	}
	for i, descend := range t.after {
		if err := to[i].Do(descend); err != nil {
			return err
		}
	}
	return nil
}

// capture records the step. The capture begins on the first device's stream and forks
// to the streams of the other devices.
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
	if err := t.describe(g); err != nil {
		return nil, err
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
