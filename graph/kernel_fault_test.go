package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/gputest"
)

// A kernel of a graph that faults takes the context with it: whoever waits or
// goes on learns the code, nothing hangs, and everything can be closed. On a GPU
// that is the end of the process, so the emulator alone shows it.
func TestKernelFaultInAGraph(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{})
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	f := &faulted{kit: &kit{TB: t, c: c}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.make()
		f.fault()
		f.use()
		f.close()
		f.closed("context", c.Close())
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it hangs")
	}
}

// faulted is a program whose kernel faults, with one of each thing that there is.
type faulted struct {
	*kit
	open     []named // in the order in which they were made
	b        *driver.Buffer[uint32]
	g        *graph.Graph
	bad      *graph.Graph
	n        graph.Node
	x, fatal *graph.Exec
	loop     *graph.Exec
	bs       *graph.Bindings
	param    graph.Param[uint32]
	scalar   *graph.Scalar[uint64]
	cache    *cache.Cache
	pool     *graph.Pool
	call     *callable.Callable[uint32, uint32]
	rec      *graph.Recording
	other    *driver.Stream
}

type named struct {
	what string
	c    closer
}

func (f *faulted) keep(what string, c closer) { f.open = append(f.open, named{what, c}) }

func (f *faulted) make() {
	var err error
	f.s, err = f.c.NewStream()
	f.ok(err)
	f.keep("stream", f.s)
	f.other, err = f.c.NewStream()
	f.ok(err)
	f.keep("other stream", f.other)
	f.m, err = f.c.LoadModule([]byte(kernels))
	f.ok(err)
	f.keep("module", f.m)
	f.plus, err = f.m.Kernel("plus")
	f.ok(err)
	f.b, err = driver.Alloc[uint32](f.c, elems)
	f.ok(err)
	f.keep("buffer", f.b)
	f.makeGraphs()
	f.makeLoop()
	f.scalar, err = graph.NewScalar(f.c, uint64(1))
	f.ok(err)
	f.keep("scalar", f.scalar)
	f.cache, err = cache.New(f.c)
	f.ok(err)
	f.keep("cache", f.cache)
	block, err := cache.Alloc[uint32](f.cache, f.s, elems)
	f.ok(err)
	f.keep("block", block)
	f.pool, err = graph.NewPool(f.c)
	f.ok(err)
	f.keep("pool", f.pool)
	f.ok(f.pool.Register(f.b.Ref()))
	f.call, err = callable.New(f.s, func(t *callable.Trace[uint32]) (uint32, error) {
		t.Launch(f.plus, config, f.b, uint32(elems), uint32(1))
		return 1, nil
	}, []uint32{1})
	f.ok(err)
	f.keep("callable", f.call)
}

func (f *faulted) makeGraphs() {
	var err error
	f.g, err = graph.New(f.c)
	f.ok(err)
	f.keep("graph", f.g)
	l := f.launch(f.plus, f.b, 1)
	f.n = f.add(f.g, l)
	f.x, err = f.g.Instantiate()
	f.ok(err)
	f.keep("exec", f.x)
	f.bs = f.x.Bindings()
	f.param, err = graph.Bind[uint32](f.bs, f.n, l, 2)
	f.ok(err)
	f.bad, err = graph.New(f.c)
	f.ok(err)
	f.keep("faulty graph", f.bad)
	first := f.add(f.bad, l)
	wild, err := f.plus.Prepare(config, uint64(64), uint32(elems), uint32(1))
	f.ok(err)
	f.add(f.bad, wild, first)
	f.fatal, err = f.bad.Instantiate()
	f.ok(err)
	f.keep("faulty exec", f.fatal)
}

func (f *faulted) makeLoop() {
	g, err := graph.New(f.c)
	f.ok(err)
	f.keep("graph with a loop", g)
	c := f.cond(g)
	loop, err := c.Within(f.b, 3)
	f.ok(err)
	start := f.add(g, f.op(loop.Start()))
	_, body := f.addWhile(g, c, start)
	f.add(body, f.op(loop.Next()))
	f.loop, err = g.Instantiate()
	f.ok(err)
	f.keep("exec with a loop", f.loop)
}

// fault launches the graph that faults while others wait behind it, and a capture
// is open.
func (f *faulted) fault() {
	var err error
	f.rec, err = graph.Begin(f.other, graph.ModeRelaxed)
	f.ok(err)
	f.ok(f.x.Launch(f.s))
	f.ok(f.fatal.Launch(f.s))
	f.said("wait", f.s.Wait(context.Background()))
	f.said("wait for the exec", f.fatal.Wait(context.Background()))
}

// said wants the code by name, and what to do.
func (f *faulted) said(what string, err error) {
	f.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) || cause(err) != driver.CUDA_ERROR_ILLEGAL_ADDRESS ||
		!strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		f.Errorf("%s after the fault: %v", what, err)
	}
}

func (f *faulted) use() {
	ctx := context.Background()
	l := f.launch(f.plus, f.b, 1)
	_, captured := graph.Capture(f.s, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(l) })
	_, recorded := graphOf(f.s, l, l)
	_, called := f.call.Call(ctx, 2)
	_, alloc := cache.Alloc[uint64](f.cache, f.s, 4096)
	_, profile := f.g.Profile(ctx, f.s)
	f.ok(f.param.Set(9))
	for what, err := range map[string]error{
		"launch": f.x.Launch(f.s), "run": f.x.Run(ctx, f.s), "upload": f.x.Upload(f.s), "loop": f.loop.Launch(f.s),
		"bound launch": f.bs.Launch(f.s), "scalar": f.scalar.Set(f.s, 2), "capture": captured, "record": recorded,
		"call": called, "allocation": alloc, "profile": profile, "stage": f.x.Stage(f.s, l),
		"instantiate": second(f.g.Instantiate()),
	} {
		f.said(what, err)
	}
	f.said("end of the capture", second(f.rec.End()))
	f.ok(f.rec.Abort())
}

func (f *faulted) close() {
	for i := len(f.open) - 1; i >= 0; i-- {
		f.closed(f.open[i].what, f.open[i].c.Close())
	}
	graph.WaitParked()
}

// closed: the driver may say what happened for each thing that is closed.
func (f *faulted) closed(what string, err error) {
	f.Helper()
	if err != nil && cause(err) != driver.CUDA_ERROR_ILLEGAL_ADDRESS {
		f.Errorf("close of the %s: %v", what, err)
	}
}
