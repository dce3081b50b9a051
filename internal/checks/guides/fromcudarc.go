package guides

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// [cudarc]

// capturedSaxpy records one launch and replays it ten times.
func capturedSaxpy(ctx *driver.Context, saxpy *driver.Kernel, x []float32) ([]float32, error) {
	stream, err := ctx.NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	dx, err := driver.AllocFrom(ctx, x)
	if err != nil {
		return nil, err
	}
	defer dx.Close()
	dy, err := driver.AllocFrom(ctx, make([]float32, len(x)))
	if err != nil {
		return nil, err
	}
	defer dy.Close()
	cfg := driver.LaunchConfig{Grid: driver.Blocks(len(x), 1024), Block: driver.D1(1024)}
	launch, err := saxpy.Prepare(cfg, dx, dy, float32(2), uint32(len(x))) // checked here
	if err != nil {
		return nil, err
	}

	g, err := graph.Capture(stream, graph.ModeThreadLocal, func(s *graph.Scope) error { return s.Do(launch) })
	if err != nil {
		return nil, err
	}
	defer g.Close()
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	defer exec.Close()
	for range 10 {
		if err := exec.Launch(stream); err != nil {
			return nil, err
		}
	}
	if err := stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	y := make([]float32, len(x))
	return y, dy.CopyTo(y)
}

// [end]
