package main

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// worker holds a stream, an executable graph for up to maxRows requests, and the page-locked
// memory for the graph's input and output. It is used by one goroutine.
type worker struct {
	stream  *driver.Stream
	in, out *driver.HostBuffer[float32]
	launch  *graph.Bindings
	rows    [2]graph.Param[uint32] // number of rows, an argument of both layers' kernels

	began atomic.Int64 // when the batch in flight began, in ns since 1970; 0 if none
}

func newWorker(d *demo.Demo, m *model) (w *worker, err error) {
	w = new(worker)
	if w.stream, err = d.NewStream(); err != nil {
		return nil, err
	}
	if w.in, err = hostMemory(d, maxRows*inputs); err != nil {
		return nil, err
	}
	if w.out, err = hostMemory(d, maxRows*outputs); err != nil {
		return nil, err
	}
	return w, w.build(d, m)
}

func hostMemory(d *demo.Demo, n int) (*driver.HostBuffer[float32], error) {
	b, err := driver.AllocHost[float32](d.Context, n)
	if err != nil {
		return nil, err
	}
	d.Close(b)
	return b, nil
}

// build creates the graph, which copies the input to the device, computes both layers and
// copies the scores back. Only the number of rows changes between launches. The copies
// always transfer a whole batch, which is small.
func (w *worker) build(d *demo.Demo, m *model) error {
	var memory [3]*driver.Buffer[float32]
	for i, n := range []int{inputs, hidden, outputs} {
		var err error
		if memory[i], err = demo.Memory[float32](d, maxRows*n, 0); err != nil {
			return err
		}
	}
	x, h, y := memory[0], memory[1], memory[2]
	first, err := m.dense.Prepare(perRow(hidden), driver.Out(h), driver.In(x), m.onFirst.weights, m.onFirst.bias,
		uint32(inputs), uint32(0), float32(0))
	if err != nil {
		return err
	}
	second, err := m.dense.Prepare(perRow(outputs), driver.Out(y), driver.In(h), m.onSec.weights, m.onSec.bias,
		uint32(hidden), uint32(0), float32(math.Inf(-1)))
	if err != nil {
		return err
	}
	rows := kernels.MatrixOf[float32](y, maxRows, outputs)
	normed, err := kernels.Softmax(rows, rows, 1)
	if err != nil {
		return err
	}
	up, err := driver.Upload(x, w.in)
	if err != nil {
		return err
	}
	down, err := driver.Download(w.out, y)
	if err != nil {
		return err
	}
	return w.instantiate(d, []driver.Op{up, first, second, normed, down})
}

// perRow returns a configuration with one block for each row and one thread for each output.
func perRow(n int) driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.D1(maxRows), Block: driver.D1(n)}
}

// instantiate creates a graph that runs ops one after the other. It binds the number of rows
// in the second and third node, the kernels of the layers.
func (w *worker) instantiate(d *demo.Demo, ops []driver.Op) error {
	g, err := graph.New(d.Context)
	if err != nil {
		return err
	}
	d.Close(g)
	nodes, err := g.AddBatch(nil, graph.Chain(ops))
	if err != nil {
		return err
	}
	exec, err := g.Instantiate(graph.WithUpload(w.stream))
	if err != nil {
		return err
	}
	d.Close(exec)
	w.launch = exec.Bindings()
	for i := range w.rows {
		if w.rows[i], err = graph.BindName[uint32](w.launch, nodes[1+i], ops[1+i].(*driver.Launch), "rows"); err != nil {
			return err
		}
	}
	return nil
}

// run computes up to maxRows requests in one launch. If it fails, all requests get its
// error.
func (w *worker) run(jobs []*job) error {
	w.began.Store(time.Now().UnixNano())
	defer w.began.Store(0)
	for i, j := range jobs {
		copy(w.in.Slice()[i*inputs:], j.input)
	}
	err := w.replay(uint32(len(jobs)))
	for i, j := range jobs {
		if err != nil {
			j.done <- answer{err: err}
			continue
		}
		scores := make([]float32, outputs)
		copy(scores, w.out.Slice()[i*outputs:])
		j.done <- answer{scores: scores}
	}
	return err
}

// [replay]

func (w *worker) replay(rows uint32) error {
	for _, p := range w.rows {
		if err := p.Set(rows); err != nil {
			return err
		}
	}
	if err := w.launch.Launch(w.stream); err != nil {
		return err
	}
	// Exec.Wait also records that no launch is in flight, so Close can release memory at
	// once.
	return w.launch.Exec().Wait(context.Background())
}

// [end]

// [lost]

// lost returns an error if the GPU is lost. Call it after a batch fails. A kernel that
// faults destroys its context, and every later call returns the same error until the process
// ends. After any other error, the GPU can compute the next batch.
func (w *worker) lost() error {
	done, err := w.stream.Query()
	if err == nil && !done {
		return errors.New("work is in flight that could not be waited for")
	}
	return err
}

// [end]

// stuck reports whether a batch has been in flight for longer than limit.
func (w *worker) stuck(limit time.Duration) bool {
	began := w.began.Load()
	return began != 0 && time.Since(time.Unix(0, began)) > limit
}
