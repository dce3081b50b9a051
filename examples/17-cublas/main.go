// Command 17-cublas captures cuBLAS matrix products into a graph, together with its own
// kernels. It computes a layer max(0, A×B + bias) in single and in half precision.
//
// Package loader opens cuBLAS at run time. The file cublas.go declares the functions that
// the program calls. Without cuBLAS or a GPU, the program reports what is missing.
package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/loader"
)

//go:embed kernels.ptx
var ptx []byte

const (
	workspaceBytes = 32 << 20
	replays        = 3
)

func main() { demo.Main("17-cublas", run) } // run opens cuBLAS and calls layers

// layers computes the layer. It does not close lib, because cuBLAS, like the driver, cannot be
// unloaded.
func layers(d *demo.Demo, lib loader.Library) error {
	d.Printf("computing with cuBLAS (%s)", lib.Name())
	b, err := newBLAS(lib, d.Context)
	if err != nil {
		return err
	}
	d.Close(b)
	workspace, err := driver.Alloc[byte](d.Context, workspaceBytes)
	if err != nil {
		return err
	}
	d.Close(workspace)
	if err := b.use(d.Stream, workspace); err != nil {
		return err
	}
	l, err := newLayer(d, b)
	if err != nil {
		return err
	}

	// Run the work once without a graph, because cuBLAS loads its kernels on first use. That should
	// not happen in a capture.
	if err := l.step("eagerly", func() error { return l.enqueue(d.Stream) }); err != nil {
		return err
	}
	exec, err := l.capture(workspace)
	if err != nil {
		return err
	}
	for i := range replays {
		if err := l.step(fmt.Sprintf("in replay %d", i+1), func() error { return exec.Run(context.Background(), d.Stream) }); err != nil {
			return err
		}
	}
	d.Printf("%d replays, each with another input: all results are right", replays)
	return nil
}

// target is a stream, or the scope of a capture.
type target interface{ Do(ops ...driver.Op) error }

// enqueue enqueues or records the work. to is the stream or scope for the program's own kernels.
// cuBLAS always uses the stream set with blas.use, so its work is recorded if that stream is
// capturing.
func (l *layer) enqueue(to target) error {
	if err := l.blas.product32(size, l.c32, l.a, l.b); err != nil {
		return err
	}
	for _, op := range l.halves {
		if err := to.Do(op); err != nil {
			return err
		}
	}
	if err := l.blas.product16(size, l.c16, l.halfA, l.halfB); err != nil {
		return err
	}
	for _, op := range l.ends {
		if err := to.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// capture records the work instead of running it. Package graph cannot determine which memory
// cuBLAS's kernels use, so Keep lists the buffers that must stay alive.
func (l *layer) capture(workspace *driver.Buffer[byte]) (*graph.Exec, error) {
	g, err := graph.Capture(l.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		if err := l.enqueue(sc); err != nil {
			return err
		}
		return sc.Keep(l.a.Ref(), l.b.Ref(), l.c32.Ref(), l.c16.Ref(), l.halfA.Ref(), l.halfB.Ref(), workspace.Ref())
	})
	if err != nil {
		return nil, err
	}
	l.Close(g)
	if err := l.describe(g); err != nil {
		return nil, err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	l.Close(exec)
	return exec, nil
}
