package guides

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
)

// [torch-static]

// replayStatic uses static inputs and outputs. Before each replay, it writes the input to
// page-locked memory. After the replay, it reads the output from page-locked memory.
func replayStatic(s *driver.Stream, in, out *driver.HostBuffer[float32], ops []driver.Op, batches [][]float32) (sum float32, err error) {
	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(ops...) })
	if err != nil {
		return 0, err
	}
	defer g.Close()
	exec, err := g.Instantiate(graph.WithUpload(s))
	if err != nil {
		return 0, err
	}
	defer exec.Close()
	for _, batch := range batches {
		copy(in.Slice(), batch)
		if err := exec.Run(context.Background(), s); err != nil { // launches and waits
			return 0, err
		}
		sum += out.Slice()[0]
	}
	return sum, nil
}

// [end]

// [torch-callable]

// batch is the input of a call.
type batch struct {
	x []float32
	a float32
}

// graphed corresponds to make_graphed_callables in PyTorch. f runs once for each
// length of batch, to record the work. Each length has its own graph and memory, and each call
// replays the graph for its length.
func graphed(s *driver.Stream, saxpy *driver.Kernel) (*callable.Callable[batch, *driver.HostBuffer[float32]], error) {
	f := func(t *callable.Trace[batch]) (*driver.HostBuffer[float32], error) {
		x := callable.StageSlice(t, func(b batch) []float32 { return b.x }) // copied to the device in each call
		a := callable.Constant(t, func(b batch) float32 { return b.a })     // changing it updates the graph
		y := callable.Scratch[float32](t, x.Len())
		if err := t.Err(); err != nil {
			return nil, err
		}
		zero, err := driver.Fill(y, 0)
		if err != nil {
			return nil, err
		}
		t.Do(zero)
		cfg := driver.LaunchConfig{Grid: driver.Blocks(x.Len(), 128), Block: driver.D1(128)}
		t.Launch(saxpy, cfg, x, y, a, uint32(x.Len()))
		return callable.Result(t, y), t.Err()
	}
	return callable.New(s, f, nil)
}

// [end]
