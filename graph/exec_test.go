package graph_test

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestUploadAndLaunchOnAnyStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		if x.Uploaded() {
			k.Error("uploaded before Upload")
		}
		k.OK(x.Upload(k.S))
		if !x.Uploaded() {
			k.Error("not uploaded after Upload")
		}
		other := k.Stream()
		for range 5 {
			k.OK(x.Launch(k.S)) // launches of one exec run in order, even on different streams
			k.OK(x.Launch(other))
		}
		k.OK(x.Wait(background))
		k.Wait(k.S)
		k.Expect(b, 11)
		if x.Replays() != 10 {
			k.Errorf("%d replays", x.Replays())
		}
	})
}

func TestInstantiateWithUpload(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g, graph.WithUpload(k.S))
		if !x.Uploaded() {
			k.Error("not uploaded")
		}
		k.Run(x)
		k.Expect(b, 2)
	})
}

func TestTwoExecsOfOneGraphAreIndependent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		x, y := k.Exec(g), k.Exec(g)
		k.OK(x.Set(n, k.Launch(k.Plus, b, 10)))
		k.Run(x)
		k.Run(y)
		k.Expect(b, 12)
	})
}

func TestSetChangesANodeOfTheExecOnly(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		k.Add(g, k.Launch(k.Times, b, 2), first)
		x := k.Exec(g)
		l := k.Launch(k.Plus, b, 0)
		want := uint32(1)
		for step := range uint32(5) {
			k.OK(driver.SetArg(l, 2, step))
			k.OK(x.Set(first, l))
			k.Run(x)
			want = (want + step) * 2
			k.Expect(b, want)
		}
		k.Run(k.Exec(g))
		k.Expect(b, (want+1)*2)
	})
}

func TestNodeSetReachesLaterExecsAndUpdates(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		before := k.Exec(g)
		k.OK(n.Set(k.Launch(k.Plus, b, 100)))
		k.Run(before)
		k.Expect(b, 2)
		k.Run(k.Exec(g))
		k.Expect(b, 102)
		r, err := before.Update(g)
		k.OK(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.Run(before)
		k.Expect(b, 202)
	})
}

func TestSetEverySortOfNode(t *testing.T) {
	each(t, func(k *kit) {
		a, b, out := k.Memory(), k.MemoryOf(70), k.Memory()
		k.CloseLater(b)
		fill := func(v uint32) driver.Op {
			op, err := driver.Fill[uint32](a, v)
			k.OK(err)
			return op
		}
		from := func(src *driver.Buffer[uint32]) driver.Op {
			op, err := driver.CopyDevice[uint32](out, src)
			k.OK(err)
			return op
		}
		event := func() *driver.Event {
			e, err := k.C.NewEvent()
			k.OK(err)
			k.CloseLater(e)
			return e
		}
		calls := [2]int{}
		call := func(i int) driver.Op {
			h, err := driver.NewHostFunc(k.C, func() { calls[i]++ })
			k.OK(err)
			return h
		}
		e1, e2 := event(), event()
		g := k.Graph()
		fillNode := k.Add(g, fill(3))
		copyNode := k.Add(g, from(a), fillNode)
		hostNode := k.Add(g, call(0), copyNode)
		recordNode := k.Add(g, driver.RecordOp(e1), hostNode)
		waitNode := k.Add(g, driver.WaitOp(e1), recordNode)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(out, 3)
		k.OK(x.Set(fillNode, fill(8)))
		k.Run(x)
		k.Expect(out, 8)
		k.OK(x.Set(copyNode, from(b)))
		k.OK(x.Set(hostNode, call(1)))
		k.OK(x.Set(recordNode, driver.RecordOp(e2)))
		k.OK(x.Set(waitNode, driver.WaitOp(e2)))
		k.Run(x)
		k.Expect(out, 70)
		if calls != [2]int{2, 1} {
			k.Errorf("calls %v, want the first twice and the second once", calls)
		}
		for _, op := range []driver.Op{fill(1), from(b), call(0), driver.RecordOp(e1), driver.WaitOp(e1)} {
			n := map[string]graph.Node{"*driver.FillOp": fillNode}[typeName(op)]
			if n.IsZero() {
				continue
			}
			k.OK(n.Set(op))
		}
		k.OK(copyNode.Set(from(b)))
		k.OK(hostNode.Set(call(0)))
		k.OK(recordNode.Set(driver.RecordOp(e1)))
		k.OK(waitNode.Set(driver.WaitOp(e1)))
	})
}

func TestSetBatchChangesManyNodes(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Memory()
		g := k.Graph()
		ops := make([]driver.Op, 10)
		for i := range ops {
			ops[i] = k.Launch(k.Plus, b, uint32(i))
		}
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.OK(err)
		x := k.Exec(g)
		changes := make([]graph.Change, len(nodes))
		for i, n := range nodes {
			l := ops[i].(*driver.Launch)
			k.OK(driver.SetArg(l, 2, uint32(100+i)))
			changes[i] = graph.Change{Node: n, Op: l}
		}
		k.OK(x.SetBatch(changes))
		k.Run(x)
		k.Expect(b, 1046)
		changes[4].Op = k.Launch(k.Plus, other, 7)
		changes[5].Op = k.Launch(k.Times, b, 0)
		k.OK(x.SetBatch(changes))
		k.Run(x)
		k.Expect(other, 8)
		k.Expect(b, 106+107+108+109)

		gone := k.MemoryOf(1)
		dead := k.Launch(k.Plus, gone, 1)
		k.OK(gone.Close())
		err = x.SetBatch([]graph.Change{{Node: nodes[0], Op: ops[0]}, {Node: nodes[1], Op: dead}})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "change 1") {
			k.Errorf("closed memory: %v", err)
		}
		if err := x.SetBatch([]graph.Change{{Op: ops[0]}}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("no node: %v", err)
		}
	})
}

func TestEnable(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 5))
		k.Add(g, k.Launch(k.Times, b, 2), first)
		x := k.Exec(g)
		k.OK(x.Enable(first, false))
		if on, err := x.Enabled(first); on || err != nil {
			k.Errorf("enabled %v, %v", on, err)
		}
		k.Run(x)
		k.Expect(b, 2)
		k.OK(x.Enable(first, true))
		k.Run(x)
		k.Expect(b, 14)
	})
}

func TestBadInputToExecs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		op := k.Launch(k.Plus, b, 1)
		g, other := k.Graph(), k.Graph()
		n, foreign := k.Add(g, op), k.Add(other, op)
		x := k.Exec(g)
		closed, err := g.Instantiate()
		k.OK(err)
		k.OK(closed.Close())
		k.OK(closed.Close())
		var none *graph.Exec
		k.OK(none.Close())
		s, err := k.C.NewStream()
		k.OK(err)
		k.OK(s.Close())
		fill, err := driver.Fill[uint32](b, 1)
		k.OK(err)
		closedGraph, err := graph.New(k.C)
		k.OK(err)
		lost := k.Add(closedGraph, op)
		orphan := k.Exec(closedGraph)
		k.OK(closedGraph.Close())
		cases := []struct {
			name string
			want error
			err  error
		}{
			{"launch of a closed exec", driver.ErrClosed, closed.Launch(k.S)},
			{"launch of nil", driver.CUDA_ERROR_INVALID_VALUE, none.Launch(k.S)},
			{"launch on a closed stream", driver.ErrClosed, x.Launch(s)},
			{"launch on nil", driver.CUDA_ERROR_INVALID_VALUE, x.Launch(nil)},
			{"upload of a closed exec", driver.ErrClosed, closed.Upload(k.S)},
			{"upload on nil", driver.CUDA_ERROR_INVALID_VALUE, x.Upload(nil)},
			{"wait for a closed exec", driver.ErrClosed, closed.Wait(background)},
			{"set of a closed exec", driver.ErrClosed, closed.Set(n, op)},
			{"set of a node of another graph", driver.CUDA_ERROR_INVALID_VALUE, x.Set(foreign, op)},
			{"set of a node of a closed graph", driver.ErrClosed, orphan.Set(lost, op)},
			{"set of the zero node", driver.CUDA_ERROR_INVALID_VALUE, x.Set(graph.Node{}, op)},
			{"set to nil", driver.CUDA_ERROR_INVALID_VALUE, x.Set(n, nil)},
			{"set to another type", driver.CUDA_ERROR_INVALID_VALUE, x.Set(n, fill)},
			{"enable of a foreign node", driver.CUDA_ERROR_INVALID_VALUE, x.Enable(foreign, false)},
			{"update from a closed graph", driver.ErrClosed, updateError(x, closedGraph)},
			{"update from nil", driver.CUDA_ERROR_INVALID_VALUE, updateError(x, nil)},
		}
		for _, c := range cases {
			if !errors.Is(c.err, c.want) {
				k.Errorf("%s: %v, want %v", c.name, c.err, c.want)
			}
		}
		k.Run(x)
		k.Expect(b, 2)
	})
}

func updateError(x *graph.Exec, g *graph.Graph) error {
	_, err := x.Update(g)
	return err
}

// If an exec's node is set to other memory, the new memory must be retained. The old memory must be
// released once no launch in flight uses it.
func TestSetRetainsTheNewAndReleasesTheOld(t *testing.T) {
	each(t, func(k *kit) {
		out := k.Memory()
		g := k.Graph()
		add := func(v uint32) (*driver.Buffer[uint32], *driver.Launch) {
			b := k.MemoryOf(v)
			l, err := k.Sum.Prepare(config, out, out, b, uint32(elems))
			k.OK(err)
			return b, l
		}
		b, l := add(1)
		n := k.Add(g, l)
		x := k.Exec(g)
		k.OK(b.Close())
		want := uint32(1)
		for i := range uint32(200) {
			b, l := add(i)
			k.OK(x.Set(n, l))
			k.OK(b.Close())
			k.OK(x.Launch(k.S))
			want += i
		}
		k.Expect(out, want)
		k.OK(x.Wait(background))
		open := 0
		for _, o := range driver.OpenObjects() {
			if strings.HasPrefix(o.Kind, "buffer") && o.Device.Driver() == k.C.Device().Driver() {
				open++
			}
		}
		if open > 3 { // out, the memory of the graph and the memory of the exec
			k.Errorf("%d buffers are kept", open)
		}
	})
}

// An exec is launched on two streams and, while it runs, is closed together with everything else.
// Goroutines then wait for its launches. Driver.Close must wait for those goroutines, so a correct
// program leaks nothing.
func TestClosingTheDriverWaitsForLaunchesOfClosedExecs(t *testing.T) {
	for range 20 {
		emu := emulator.New(emulator.Config{})
		d, err := driver.New(emu)
		succeeds(t, err)
		dev, err := d.Device(0)
		succeeds(t, err)
		c, err := dev.PrimaryContext()
		succeeds(t, err)
		gate := make(chan struct{})
		g, err := graph.New(c)
		succeeds(t, err)
		h, err := driver.NewHostFunc(c, func() { <-gate })
		succeeds(t, err)
		_, err = g.Add(h)
		succeeds(t, err)
		x, err := g.Instantiate()
		succeeds(t, err)
		a, err := c.NewStream()
		succeeds(t, err)
		b, err := c.NewStream()
		succeeds(t, err)
		succeeds(t, x.Launch(a))
		succeeds(t, x.Launch(b))
		succeeds(t, x.Close())
		succeeds(t, g.Close())
		succeeds(t, a.Close())
		succeeds(t, b.Close())
		succeeds(t, c.Close())
		go close(gate)
		succeeds(t, d.Close())
		for _, l := range emu.Leaks() {
			t.Errorf("leaked: %v", l)
		}
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFlagsOfAClosedExecAreNone(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(x.Close())
		if f, err := x.Flags(); f != 0 || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("flags %d, %v", f, err)
		}
	})
}

// A launch must run in the context of its stream, whatever context is current on the thread.
func TestLaunchIsInTheContextOfItsStream(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d := c.Device().Driver()
		defer func() { check(t, d.CuCtxSetCurrent(0)) }()
		other, err := c.Device().NewContext(0)
		check(t, err)
		defer other.Close()

		buf, err := driver.Alloc[uint32](c, 4)
		check(t, err)
		defer buf.Close()
		op, err := driver.Fill(buf, uint32(6))
		check(t, err)
		g, err := graph.New(c)
		check(t, err)
		defer g.Close()
		_, err = g.Add(op)
		check(t, err)
		x, err := g.Instantiate()
		check(t, err)
		defer x.Close()
		s, err := c.NewStream()
		check(t, err)
		defer s.Close()

		for _, current := range []driver.CUcontext{0, other.Raw()} {
			check(t, buf.Fill(0))
			check(t, d.CuCtxSetCurrent(current))
			check(t, x.Launch(s))
			check(t, s.Wait(t.Context()))
			got := make([]uint32, 4)
			check(t, buf.CopyTo(got))
			if got[3] != 6 {
				t.Errorf("with context %#x current: %v, want all 6", current, got)
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestUploadIsDoneOncePerChange(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	g := k.Graph()
	l := k.Launch(k.Plus, b, 1)
	n := k.Add(g, l)
	child, err := g.AddChild(k.captured([]driver.Op{l}, nil))
	k.OK(err)
	x := k.Exec(g)
	uploads := func() (n int) {
		lib.Count()
		k.OK(x.Upload(k.S))
		k.OK(x.Upload(k.S))
		for _, c := range lib.Stop() {
			if c.Symbol == "cuGraphUpload" {
				n++
			}
		}
		return n
	}
	bs := x.Bindings()
	p, err := graph.Bind[uint32](bs, n, l, 2)
	k.OK(err)
	for what, change := range map[string]func() error{
		"nothing":  func() error { return nil },
		"Set":      func() error { return x.Set(n, l) },
		"SetBatch": func() error { return x.SetBatch([]graph.Change{{Node: n, Op: l}}) },
		"Enable":   func() error { return x.Enable(n, true) },
		"SetChild": func() error { return x.SetChild(child, k.captured([]driver.Op{l}, nil)) },
		"Update":   func() error { _, err := x.Update(g); return err },
		"Bindings": func() error { p.Set(3); return bs.Send() },
	} {
		k.OK(x.Upload(k.S))
		k.OK(change())
		want := 1
		if what == "nothing" {
			want = 0
		}
		if x.Uploaded() != (want == 0) {
			k.Errorf("after %s: uploaded %v", what, x.Uploaded())
		}
		if n := uploads(); n != want {
			k.Errorf("after %s: %d uploads, want %d", what, n, want)
		}
	}
	k.Run(x)
}

func TestInstantiateOptionsReachTheDriver(t *testing.T) {
	var flags uint64
	c := gputest.Watched(t, cu.FnCuGraphInstantiateWithParams, func(a loader.Args) {
		flags = (*cu.CUDA_GRAPH_INSTANTIATE_PARAMS)(a.Ptr(2)).Flags
	})
	for _, o := range []struct {
		option graph.Option
		want   cu.CUgraphInstantiate_flags
	}{
		{graph.WithAutoFree(), cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH},
		{graph.WithNodePriorities(), cu.CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY},
	} {
		g, err := graph.New(c)
		check(t, err)
		_, err = g.AddEmpty()
		check(t, err)
		x, err := g.Instantiate(o.option)
		check(t, err)
		if cu.CUgraphInstantiate_flags(flags) != o.want {
			t.Errorf("flags %#x, want %v", flags, o.want)
		}
		check(t, x.Close())
		check(t, g.Close())
	}
}

func TestAutoFreeIsAFlagOfTheExec(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		g, err := graph.New(c)
		check(t, err)
		defer g.Close()
		_, err = g.AddEmpty()
		check(t, err)
		x, err := g.Instantiate(graph.WithAutoFree())
		check(t, err)
		defer x.Close()
		flags, err := x.Flags()
		check(t, err)
		if flags != cu.CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH {
			t.Errorf("flags %v", flags)
		}
	})
}

func typeName(v any) string { return reflect.TypeOf(v).String() }
