// Command 16-nccl trains a small model on several GPUs, each with its own data. Each GPU computes a
// gradient, NCCL adds the gradients of all GPUs, and each GPU updates its parameters. One graph
// contains this step for all GPUs, including NCCL's all-reduce.
//
// Package loader opens NCCL at run time. The file nccl.go declares the functions that the
// program calls. Without NCCL, or with only one GPU, the program reports what is missing.
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

// train trains the model. It does not close lib, because NCCL, like the driver, cannot be unloaded.
func train(d *demo.Demo, lib loader.Library, contexts []*driver.Context) error {
	d.Printf("%d devices are connected by %s", len(contexts), lib.Name())
	t, err := newTraining(d, lib, contexts)
	if err != nil {
		return err
	}
	// Run the first step without a graph, because NCCL connects the devices on first use. That
	// should not happen in a capture.
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

// enqueue enqueues or records one training step. to contains one stream or scope per device, for
// the program's own operations. NCCL always uses the streams, so its work is recorded if they are
// capturing.
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

// capture records a step. The capture begins on the first device's stream and forks to the
// streams of the other devices.
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
