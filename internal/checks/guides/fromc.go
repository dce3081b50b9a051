package guides

import (
	"context"
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// [c-open]

// open creates a context and loads a module. drv is the driver that driver.Open returned.
func open(drv *driver.Driver, ptx []byte) (*driver.Context, *driver.Module, error) {
	dev, err := drv.Device(0)
	if err != nil {
		return nil, nil, err
	}
	ctx, err := dev.PrimaryContext() // every call makes it current, so the program need not
	if err != nil {
		return nil, nil, err
	}
	mod, err := ctx.LoadModule(ptx)
	if err != nil {
		return nil, nil, errors.Join(err, ctx.Close())
	}
	return ctx, mod, nil
}

// [end]

// [c-launch]

// saxpyOnce computes y += a * x for slices in host memory.
func saxpyOnce(ctx *driver.Context, s *driver.Stream, saxpy *driver.Kernel, x, y []float32, a float32) error {
	dx, err := driver.AllocFrom(ctx, x)
	if err != nil {
		return err
	}
	defer dx.Close()
	dy, err := driver.AllocFrom(ctx, y)
	if err != nil {
		return err
	}
	defer dy.Close()
	cfg := driver.LaunchConfig{Grid: driver.Blocks(len(x), 128), Block: driver.D1(128)}
	if err := saxpy.Launch(s, cfg, dx, dy, a, uint32(len(x))); err != nil {
		return err
	}
	if err := s.Wait(context.Background()); err != nil {
		return err
	}
	return dy.CopyTo(y)
}

// [end]

// [c-capture]

// captured records the same launch as many times as steps says, and returns the executable graph.
func captured(s *driver.Stream, launch *driver.Launch, steps int) (*graph.Exec, error) {
	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		for range steps {
			if err := sc.Do(launch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer g.Close() // exec remains valid
	return g.Instantiate()
}

// [end]

// [c-hand]

// byHand builds the graph upload → launch → download node by node. It then changes the
// launch's third argument in the executable graph.
func byHand(ctx *driver.Context, upload, download *driver.CopyOp, launch *driver.Launch) (*graph.Exec, error) {
	g, err := graph.New(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	up, err := g.Add(upload)
	if err != nil {
		return nil, err
	}
	kernel, err := g.Add(launch, up)
	if err != nil {
		return nil, err
	}
	if _, err := g.Add(download, kernel); err != nil {
		return nil, err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(driver.SetArg(launch, 2, float32(3)), exec.Set(kernel, launch)); err != nil {
		return nil, errors.Join(err, exec.Close())
	}
	return exec, nil
}

// [end]

// [c-streams]

// twoStreams runs a in the first stream, and then b in the second.
func twoStreams(first, second *driver.Stream, event *driver.Event, a, b driver.Op) error {
	return errors.Join(first.Do(a), first.Record(event), second.WaitEvent(event), second.Do(b))
}

// [end]

// [c-raw]

// rawVersion calls the raw layer. Its methods have C's names and arguments, but return an
// error instead of a code.
func rawVersion(ctx *driver.Context) (version int32, free, total uintptr, err error) {
	d := ctx.Driver() // makes ctx current for each call
	err = errors.Join(d.CuDriverGetVersion(&version), d.CuMemGetInfo(&free, &total))
	return version, free, total, err
}

// [end]
