package misusetest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// Closed or wrong arguments must be rejected before anything is recorded or changed.
func TestWhatCannotTakePartIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 1)
		g, other := k.Graph(), k.Graph()
		n, there := k.Add(g, l), k.Add(other, l)
		closed, shut := k.Graph(), k.Graph()
		k.OK(closed.Close())
		k.OK(shut.Close())
		stream := k.Stream()
		k.OK(stream.Close())
		params := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_EMPTY}
		gone := k.Add(other, l)
		k.OK(gone.Destroy())
		calls := 0
		record := func(*graph.Scope) error { calls++; return nil }
		for what, err := range map[string]error{
			"a node of a closed graph":                 graphtest.Second(closed.AddNode(params, nil)),
			"a child that is closed":                   graphtest.Second(g.AddChild(closed)),
			"a child for a closed graph":               graphtest.Second(closed.AddChild(g)),
			"handing over to a closed graph":           graphtest.Second(closed.AddChildMove(other)),
			"a capture into a closed graph":            graphtest.Second(graphtest.CaptureInto(closed, k.S, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream":             graphtest.Second(graphtest.CaptureInto(g, stream, graph.ModeRelaxed, nil, record)),
			"a capture of a closed stream, begun":      graphtest.Second(graphtest.BeginInto(g, stream, graph.ModeRelaxed)),
			"a capture into a closed graph, begun":     graphtest.Second(graphtest.BeginInto(closed, k.S, graph.ModeRelaxed)),
			"attributes from a node of a closed graph": n.CopyAttributes(graph.Node{}),
			"a plan in a closed graph":                 graphtest.Second(closed.AddPlan(nil)),
			"an edge in a closed graph":                closed.AddEdges(graphtest.EdgesOf([]graph.Node{n}, []graph.Node{n})...),
			"a clone of a closed graph":                graphtest.Second(closed.Clone()),
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
		k.Usable(k.S)
	})
}

func TestAClosedStreamRecordsNothingIntoAChild(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g, inner := k.Graph(), k.Graph()
		k.Add(inner, k.Launch(k.Plus, b, 1))
		n, err := g.AddChild(inner)
		k.OK(err)
		part, err := n.ChildGraph()
		k.OK(err)
		s := k.Stream()
		k.OK(s.Close())
		if _, err := graphtest.CaptureInto(part, s, graph.ModeRelaxed, nil, func(*graph.Scope) error {
			t.Error("it was recorded")
			return nil
		}); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGraphsWithConditionalsAreNotHandedOver(t *testing.T) {
	each(t, func(k *kit) {
		g, child := k.Graph(), k.Graph()
		k.AddIf(child, k.Cond(child))
		_, err := g.AddChildMove(child)
		k.ExpectReason("handed over", err, driver.CUDA_ERROR_NOT_SUPPORTED, "cannot be handed over", "IF node")
		if n, err := g.Len(); err != nil || n != 0 {
			t.Errorf("%d nodes, %v", n, err)
		}
		k.Add(child, k.Launch(k.Plus, k.Memory(), 1)) // the child must be unchanged
	})
}

func TestScopesFreeOnlyMemoryOfGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b, err := driver.AllocAsync[uint32](k.S, elems)
		k.OK(err)
		k.CloseLater(b)
		k.Wait(k.S)
		op, err := driver.NewFree(b)
		if err != nil {
			return // the free operation cannot be created
		}
		_, err = graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			if err := sc.Free(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				t.Errorf("nothing: %v", err)
			}
			return sc.Free(op)
		})
		k.ExpectReason("freed", err, driver.CUDA_ERROR_INVALID_VALUE, "not memory of an allocation node")
		k.OK(k.S.Do(k.Launch(k.Plus, b, 1)))
		k.Wait(k.S)
	})
}

// A node in a child graph must accept exactly the operations that a node of the outer graph
// accepts.
func TestNodesInsideAChildRefuseOtherOperations(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		inner, g := k.Graph(), k.Graph()
		k.Add(inner, k.Launch(k.Plus, b, 1))
		child, err := g.AddChild(inner)
		k.OK(err)
		part, err := child.ChildGraph()
		k.OK(err)
		n := k.Nodes(part)[0]
		x := k.Exec(g)
		other, err := k.C.Device().NewContext(0)
		k.OK(err)
		k.CloseLater(other)
		m, err := other.LoadModule([]byte(graphtest.Kernels))
		k.OK(err)
		k.CloseLater(m)
		f, err := m.Kernel("plus")
		k.OK(err)
		far, err := driver.Alloc[uint32](other, elems)
		k.OK(err)
		k.CloseLater(far)
		foreign, err := f.Prepare(config, far, uint32(elems), uint32(1))
		k.OK(err)
		for what, err := range map[string]error{
			"nothing":                     x.Set(n, nil),
			"a launch that is nil":        x.Set(n, (*driver.Launch)(nil)),
			"a launch of another context": x.Set(n, foreign),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) && !errors.Is(err, driver.ErrClosed) && !errors.Is(err, driver.CUDA_ERROR_INVALID_CONTEXT) {
				t.Errorf("%s: %v", what, err)
			}
		}
		k.OK(x.Set(n, k.Launch(k.Plus, b, 5)))
		k.Run(x)
		k.Expect(b, 6)
	})
}

// On a stream of another context, a launch with bound parameters first sends the parameters. If
// that fails, nothing may be launched.
func TestBindingsOnAStreamOfAnotherContextReportWhatFails(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	x, plus, _, ops := k.Bound(b)
	bs := x.Bindings()
	add := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
	other, err := k.C.Device().NewContext(0)
	k.OK(err)
	k.CloseLater(other)
	s, err := other.NewStream()
	k.OK(err)
	k.CloseLater(s)
	k.OK(add.Set(4))
	lib.FailCall(cu.FnCuGraphExecKernelNodeSetParams.Symbol(), 1, uint32(graphtest.Injected))
	err = bs.Launch(s)
	lib.Stop()
	if !errors.Is(err, graphtest.Injected) {
		t.Errorf("got %v", err)
	}
	k.Expect(b, 1)
	k.OK(bs.Launch(s))
	k.Wait(s)
	k.Expect(b, 5)
}

// If a kernel of a graph faults, the context is lost. Every wait and every later call must return
// the error code. No call may hang, and it must be possible to close everything. On a GPU the fault
// ends the process, so only the emulator can test this.
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
	f := &faulted{kit: &kit{&graphtest.Kit{TB: t, C: c}}}
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

// faulted is a program whose kernel faults, with one open object of each kind.
type faulted struct {
	*kit
	open     []named // in order of creation
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
	c    io.Closer
}

func (f *faulted) keep(what string, c io.Closer) { f.open = append(f.open, named{what, c}) }

func (f *faulted) make() {
	var err error
	f.S, err = f.C.NewStream()
	f.OK(err)
	f.keep("stream", f.S)
	f.other, err = f.C.NewStream()
	f.OK(err)
	f.keep("other stream", f.other)
	m, err := f.C.LoadModule([]byte(graphtest.Kernels))
	f.OK(err)
	f.keep("module", m)
	f.Plus, err = m.Kernel("plus")
	f.OK(err)
	f.b, err = driver.Alloc[uint32](f.C, elems)
	f.OK(err)
	f.keep("buffer", f.b)
	f.makeGraphs()
	f.makeLoop()
	f.scalar, err = graph.NewScalar(f.C, uint64(1))
	f.OK(err)
	f.keep("scalar", f.scalar)
	f.cache, err = cache.New(f.C)
	f.OK(err)
	f.keep("cache", f.cache)
	block, err := cache.Alloc[uint32](f.cache, f.S, elems)
	f.OK(err)
	f.keep("block", block)
	f.pool, err = graph.NewPool(f.C)
	f.OK(err)
	f.keep("pool", f.pool)
	f.OK(f.pool.Register(f.b.Ref()))
	f.call, err = callable.New(f.S, func(t *callable.Trace[uint32]) (uint32, error) {
		t.Launch(f.Plus, config, f.b, uint32(elems), uint32(1))
		return 1, nil
	}, []uint32{1})
	f.OK(err)
	f.keep("callable", f.call)
}

func (f *faulted) makeGraphs() {
	var err error
	f.g, err = graph.New(f.C)
	f.OK(err)
	f.keep("graph", f.g)
	l := f.Launch(f.Plus, f.b, 1)
	f.n = f.Add(f.g, l)
	f.x, err = f.g.Instantiate()
	f.OK(err)
	f.keep("exec", f.x)
	f.bs = f.x.Bindings()
	f.param, err = graph.Bind[uint32](f.bs, f.n, l, 2)
	f.OK(err)
	f.bad, err = graph.New(f.C)
	f.OK(err)
	f.keep("faulty graph", f.bad)
	first := f.Add(f.bad, l)
	wild, err := f.Plus.Prepare(config, uint64(64), uint32(elems), uint32(1))
	f.OK(err)
	f.Add(f.bad, wild, first)
	f.fatal, err = f.bad.Instantiate()
	f.OK(err)
	f.keep("faulty exec", f.fatal)
}

func (f *faulted) makeLoop() {
	g, err := graph.New(f.C)
	f.OK(err)
	f.keep("graph with a loop", g)
	c := f.Cond(g)
	loop, err := c.Within(f.b, 3)
	f.OK(err)
	start := f.Add(g, f.Op(loop.Start()))
	_, body := f.AddWhile(g, c, start)
	f.Add(body, f.Op(loop.Next()))
	f.loop, err = g.Instantiate()
	f.OK(err)
	f.keep("exec with a loop", f.loop)
}

// fault launches the faulting graph while a capture is open, and checks the errors of the waits.
func (f *faulted) fault() {
	var err error
	f.rec, err = graph.Begin(f.other, graph.ModeRelaxed)
	f.OK(err)
	f.OK(f.x.Launch(f.S))
	f.OK(f.fatal.Launch(f.S))
	f.said("wait", f.S.Wait(context.Background()))
	f.said("wait for the exec", f.fatal.Wait(context.Background()))
}

// said checks that the message contains the name of the code, and that the first driver code in err
// is that code.
func (f *faulted) said(what string, err error) {
	f.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) || graphtest.Cause(err) != driver.CUDA_ERROR_ILLEGAL_ADDRESS ||
		!strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		f.Errorf("%s after the fault: %v", what, err)
	}
}

func (f *faulted) use() {
	ctx := context.Background()
	l := f.Launch(f.Plus, f.b, 1)
	_, captured := graph.Capture(f.S, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(l) })
	_, recorded := graphtest.Recorded(f.S, l, l)
	_, called := f.call.Call(ctx, 2)
	_, alloc := cache.Alloc[uint64](f.cache, f.S, 4096)
	_, profile := f.g.Profile(ctx, f.S)
	f.OK(f.param.Set(9))
	for what, err := range map[string]error{
		"launch": f.x.Launch(f.S), "run": f.x.Run(ctx, f.S), "upload": f.x.Upload(f.S), "loop": f.loop.Launch(f.S),
		"bound launch": f.bs.Launch(f.S), "scalar": f.scalar.Set(f.S, 2), "capture": captured, "record": recorded,
		"call": called, "allocation": alloc, "profile": profile, "stage": f.x.Stage(f.S, l),
		"instantiate": graphtest.Second(f.g.Instantiate()),
	} {
		f.said(what, err)
	}
	f.said("end of the capture", graphtest.Second(f.rec.End()))
	f.OK(f.rec.Abort())
}

func (f *faulted) close() {
	for i := len(f.open) - 1; i >= 0; i-- {
		f.closed(f.open[i].what, f.open[i].c.Close())
	}
	inflight.Waiting.Wait()
}

// closed accepts either success or the error of the fault from a Close.
func (f *faulted) closed(what string, err error) {
	f.Helper()
	if err != nil && graphtest.Cause(err) != driver.CUDA_ERROR_ILLEGAL_ADDRESS {
		f.Errorf("close of the %s: %v", what, err)
	}
}
