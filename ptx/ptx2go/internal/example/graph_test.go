package example

import (
	"context"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestDirectLaunchesAreRecordedWithWhatTheyUse(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		axpy, y := r.ks.Axpy, r.floats(0, 0)
		x := must(driver.AllocFrom(c, []float32{1, 2}))(t)
		g := must(graph.Capture(r.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			for _, alpha := range []float32{1, 10} {
				if err := axpy.Do(sc, axpy.Grid(2), x.All(), y.All(), alpha, 2); err != nil {
					return err
				}
			}
			return nil
		}))(t)
		noError(t, x.Close()) // the graph retains the buffer
		defer func() { noError(t, g.Close()) }()
		if checked := must(g.Check())(t); len(checked.Conflicts) != 0 {
			t.Errorf("the capture has conflicts: %v", checked.Conflicts)
		}
		exec := must(g.Instantiate())(t)
		defer func() { noError(t, exec.Close()) }()
		noError(t, exec.Run(context.Background(), r.s))
		noError(t, exec.Run(context.Background(), r.s))
		wants(r, y, 22, 44)
	})
}

func TestAFlowOrdersOperationsByWhatTheyReadAndWrite(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		a, b, sum, y := r.floats(1, 2), r.floats(3, 4), r.floats(0, 0), r.floats(100, 100)
		tile, axpy := r.ks.GridTileFloat32, r.ks.Axpy
		add := must(tile.Op(tile.Grid(2, 1), a, b, sum, 1, 2))(t)
		scale := must(axpy.Prepare(axpy.Grid(2), sum, y, 1, 2))(t)
		f := dataflow.New(c)
		must(f.Add(add))(t)
		must(f.Add(scale.Launch))(t)
		g := must(f.Build())(t)
		defer func() { noError(t, g.Close()) }()
		edges, nodes := 0, []graph.Node(nil)
		for _, err := range g.Edges() {
			noError(t, err)
			edges++
		}
		for n, err := range g.Nodes() {
			noError(t, err)
			nodes = append(nodes, n)
		}
		if edges != 1 {
			t.Errorf("there are %d edges, want 1: what is read was written before", edges)
		}
		exec := must(g.Instantiate())(t)
		defer func() { noError(t, exec.Close()) }()
		noError(t, exec.Run(context.Background(), r.s))
		wants(r, y, 104, 106)
		noError(t, scale.Alpha.Set(10))
		noError(t, exec.Set(nodes[1], scale.Launch))
		noError(t, exec.Run(context.Background(), r.s))
		wants(r, y, 144, 166)
	})
}

func TestMistakesAreRefusedWithTheParametersName(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		axpy, x := r.ks.Axpy, r.floats(1)
		closed := must(driver.Alloc[float32](c, 1))(t)
		noError(t, closed.Close())
		var none Axpy
		cfg, large := axpy.Grid(1), driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(257)}
		var noStream *driver.Stream
		for want, err := range map[string]error{
			"kernel axpy: argument 1 (y): buffer of float32": axpy.Do(r.s, cfg, x.All(), closed.All(), 1, 1),
			"kernel axpy: argument 0 (x): nil buffer":        axpy.Do(r.s, cfg, driver.View[float32]{}, x.All(), 1, 1),
			"kernel axpy: argument 0 (x): nil buffer: make":  second(axpy.Op(cfg, nil, x, 1, 1)),
			"kernel axpy: grid dimension X is 0":             axpy.Do(r.s, axpy.Grid(0), x.All(), x.All(), 1, 1),
			"kernel axpy: a block of 257×1×1":                second(axpy.Prepare(large, x, x, 1, 1)),
			"nil kernel: make":                               none.Do(r.s, cfg, x.All(), x.All(), 1, 1),
			"nil kernel":                                     second(none.Op(cfg, x, x, 1, 1)),
			"nil stream: make":                               axpy.Do(noStream, cfg, x.All(), x.All(), 1, 1),
			"nil stream":                                     axpy.Do(nil, cfg, x.All(), x.All(), 1, 1),
		} {
			checkRefusal(t, want, err)
		}
		noError(t, axpy.Do(r.s, cfg, x.All(), x.All(), 1, 1)) // the failure has no lasting effect
		wants(r, x, 2)
	})
}

func second[T any](_ T, err error) error { return err }

func TestASetThatCannotBeLoadedLeavesNothingOpen(t *testing.T) {
	text := particlesPTX
	particlesPTX = []byte(".version 7.0\n.target sm_52\n.visible .entry k()\n{\n\tnonsense;\n}\n")
	defer func() { particlesPTX = text }()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		ks, err := LoadKernels(c)
		if ks != nil || !errors.Is(err, driver.CUDA_ERROR_INVALID_PTX) {
			t.Fatal(ks, err)
		}
		checkRefusal(t, "particles.ptx", err)
	})
}

func TestALauncherOfAClosedSetIsRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		ks := must(LoadKernels(c))(t)
		noError(t, ks.Close())
		noError(t, ks.Close())
		err := ks.Nothing.Do(r.s, ks.Nothing.Grid(1))
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%v is not %v", err, driver.ErrClosed)
		}
		checkRefusal(t, "kernel nothing", err)
		var none *Kernels
		noError(t, none.Close())
	})
}
