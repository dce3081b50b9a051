package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// What is closed, or is not what it should be, is refused before anything is
// recorded or changed.
func TestWhatCannotTakePartIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		g, other := k.graph(), k.graph()
		n, there := k.add(g, l), k.add(other, l)
		closed, shut := k.graph(), k.graph()
		k.ok(closed.Close())
		k.ok(shut.Close())
		stream := k.stream()
		k.ok(stream.Close())
		params := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY}
		gone := k.add(other, l)
		k.ok(gone.Destroy())
		calls := 0
		record := func(*graph.Scope) error { calls++; return nil }
		for what, err := range map[string]error{
			"a node of a closed graph":                 errorOf(closed.AddNode(params, nil)),
			"a child that is closed":                   errorOf(g.AddChild(closed)),
			"a child for a closed graph":               errorOf(closed.AddChild(g)),
			"handing over to a closed graph":           errorOf(closed.AddChildMove(other)),
			"a capture into a closed graph":            errorOf(intoGraph(closed, k.s, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream":             errorOf(intoGraph(g, stream, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream, begun":      errorOf(beginInto(g, stream, graph.ModeRelaxed)),
			"a capture into a closed graph, begun":     errorOf(beginInto(closed, k.s, graph.ModeRelaxed)),
			"attributes from a node of a closed graph": n.CopyAttributes(graph.Node{}),
			"a plan in a closed graph":                 errorOf(closed.AddPlan(nil)),
			"an edge in a closed graph":                closed.AddEdges(edgesOf([]graph.Node{n}, []graph.Node{n})...),
			"a clone of a closed graph":                errorOf(closed.Clone()),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		for what, err := range map[string]error{
			"attributes of a node that is gone":  gone.CopyAttributes(n),
			"attributes for a node that is gone": n.CopyAttributes(gone),
			"attributes of two nodes, one gone":  gone.CopyAttributes(there),
			"attributes for one, of one gone":    there.CopyAttributes(gone),
		} {
			if err == nil || !strings.Contains(err.Error(), "was destroyed") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if calls != 0 {
			t.Errorf("%d captures were recorded", calls)
		}
		if count, err := g.Len(); err != nil || count != 1 {
			t.Errorf("the graph has %d nodes, %v", count, err)
		}
		k.usable(k.s)
	})
}

// A capture of a stream into a graph inside another, whose stream is closed, is
// refused as one into the outer graph is.
func TestAClosedStreamRecordsNothingIntoAChild(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g, inner := k.graph(), k.graph()
		k.add(inner, k.launch(k.plus, b, 1))
		n, err := g.AddChild(inner)
		k.ok(err)
		part, err := n.ChildGraph()
		k.ok(err)
		s := k.stream()
		k.ok(s.Close())
		if _, err := intoGraph(part, s, graph.ModeRelaxed, nil, func(*graph.Scope) error {
			t.Error("it was recorded")
			return nil
		}); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGraphsWithConditionalsAreNotHandedOver(t *testing.T) {
	each(t, func(k *kit) {
		g, child := k.graph(), k.graph()
		k.addIf(child, k.cond(child))
		_, err := g.AddChildMove(child)
		k.expectReason("handed over", err, driver.CUDA_ERROR_NOT_SUPPORTED, "cannot be handed over", "IF node")
		if n, err := g.Len(); err != nil || n != 0 {
			t.Errorf("%d nodes, %v", n, err)
		}
		k.add(child, k.launch(k.plus, k.memory(), 1)) // it is still whole
	})
}

func TestScopesFreeOnlyMemoryOfGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b, err := driver.AllocAsync[uint32](k.s, elems)
		k.ok(err)
		k.closeLater(b)
		k.wait(k.s)
		op, err := driver.NewFree(b)
		if err != nil {
			return // it cannot be made
		}
		_, err = graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
			if err := sc.Free(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("nothing: %v", err)
			}
			return sc.Free(op)
		})
		k.expectReason("freed", err, driver.CUDA_ERROR_INVALID_VALUE, "not memory of an allocation node")
		k.ok(k.s.Do(k.launch(k.plus, b, 1)))
		k.wait(k.s)
	})
}

// A node inside a child graph takes the operations that a node of the graph
// itself takes, and no others.
func TestNodesInsideAChildRefuseOtherOperations(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		inner, g := k.graph(), k.graph()
		k.add(inner, k.launch(k.plus, b, 1))
		child, err := g.AddChild(inner)
		k.ok(err)
		part, err := child.ChildGraph()
		k.ok(err)
		n := k.nodes(part)[0]
		x := k.exec(g)
		other, err := k.c.Device().NewContext(0)
		k.ok(err)
		k.closeLater(other)
		m, err := other.LoadModule([]byte(kernels))
		k.ok(err)
		k.closeLater(m)
		f, err := m.Kernel("plus")
		k.ok(err)
		far, err := driver.Alloc[uint32](other, elems)
		k.ok(err)
		k.closeLater(far)
		foreign, err := f.Prepare(config, far, uint32(elems), uint32(1))
		k.ok(err)
		for what, err := range map[string]error{
			"nothing":                     x.Set(n, nil),
			"a launch that is nil":        x.Set(n, (*driver.Launch)(nil)),
			"a launch of another context": x.Set(n, foreign),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) && !errors.Is(err, driver.ErrClosed) && !errors.Is(err, driver.CUDA_ERROR_INVALID_CONTEXT) {
				t.Errorf("%s: %v", what, err)
			}
		}
		k.ok(x.Set(n, k.launch(k.plus, b, 5)))
		k.run(x)
		k.expect(b, 6)
	})
}

// A launch with bound parameters on a stream of another context changes them
// first; where that fails nothing is launched.
func TestBindingsOnAStreamOfAnotherContextReportWhatFails(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	x, plus, _, ops := k.bound(b)
	bs := x.Bindings()
	add := bind[uint32](k, bs, plus, ops[0], "v")
	other, err := k.c.Device().NewContext(0)
	k.ok(err)
	k.closeLater(other)
	s, err := other.NewStream()
	k.ok(err)
	k.closeLater(s)
	k.ok(add.Set(4))
	lib.FailCall(cu.FnCuGraphExecKernelNodeSetParams.Symbol(), 1, uint32(injected))
	err = bs.Launch(s)
	lib.Stop()
	if !errors.Is(err, injected) {
		t.Errorf("got %v", err)
	}
	k.expect(b, 1)
	k.ok(bs.Launch(s))
	k.wait(s)
	k.expect(b, 5)
}

// A snapshot of a graph that the driver does not tell all of is an error.
func TestDetailsThatAreNotToldAreAnError(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	g := newSubject(k).g
	k.alloc(g)
	lib.Count()
	k.snapshot(g)
	for i, c := range lib.Stop() {
		lib.FailNth(i+1, uint32(injected))
		_, err := g.Snapshot()
		lib.Stop()
		if !errors.Is(err, injected) {
			t.Errorf("%s failed, got %v", c.Symbol, err)
		}
	}
}

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
