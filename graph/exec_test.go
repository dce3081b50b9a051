package graph_test

import (
	"errors"
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
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		if x.Uploaded() {
			k.Error("uploaded before Upload")
		}
		k.ok(x.Upload(k.s))
		if !x.Uploaded() {
			k.Error("not uploaded after Upload")
		}
		other := k.stream()
		for range 5 {
			k.ok(x.Launch(k.s)) // ordered behind each other, whatever the stream
			k.ok(x.Launch(other))
		}
		k.ok(x.Wait(background))
		k.wait(k.s)
		k.expect(b, 11)
		if x.Replays() != 10 {
			k.Errorf("%d replays", x.Replays())
		}
	})
}

func TestInstantiateWithUpload(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g, graph.WithUpload(k.s))
		if !x.Uploaded() {
			k.Error("not uploaded")
		}
		k.run(x)
		k.expect(b, 2)
	})
}

func TestTwoExecsOfOneGraphAreIndependent(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x, y := k.exec(g), k.exec(g)
		k.ok(x.Set(n, k.launch(k.plus, b, 10)))
		k.run(x)
		k.run(y)
		k.expect(b, 12)
	})
}

func TestSetChangesANodeOfTheExecOnly(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		k.add(g, k.launch(k.times, b, 2), first)
		x := k.exec(g)
		l := k.launch(k.plus, b, 0)
		want := uint32(1)
		for step := range uint32(5) {
			k.ok(driver.SetArg(l, 2, step))
			k.ok(x.Set(first, l))
			k.run(x)
			want = (want + step) * 2
			k.expect(b, want)
		}
		k.run(k.exec(g))
		k.expect(b, (want+1)*2)
	})
}

func TestNodeSetReachesLaterExecsAndUpdates(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		before := k.exec(g)
		k.ok(n.Set(k.launch(k.plus, b, 100)))
		k.run(before)
		k.expect(b, 2)
		k.run(k.exec(g))
		k.expect(b, 102)
		r, err := before.Update(g)
		k.ok(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.run(before)
		k.expect(b, 202)
	})
}

func TestSetEverySortOfNode(t *testing.T) {
	each(t, func(k *kit) {
		a, b, out := k.memory(), k.memoryOf(70), k.memory()
		k.closeLater(b)
		fill := func(v uint32) driver.Op {
			op, err := driver.Fill[uint32](a, v)
			k.ok(err)
			return op
		}
		from := func(src *driver.Buffer[uint32]) driver.Op {
			op, err := driver.CopyDevice[uint32](out, src)
			k.ok(err)
			return op
		}
		event := func() *driver.Event {
			e, err := k.c.NewEvent()
			k.ok(err)
			k.closeLater(e)
			return e
		}
		calls := [2]int{}
		call := func(i int) driver.Op {
			h, err := driver.NewHostFunc(k.c, func() { calls[i]++ })
			k.ok(err)
			return h
		}
		e1, e2 := event(), event()
		g := k.graph()
		fillNode := k.add(g, fill(3))
		copyNode := k.add(g, from(a), fillNode)
		hostNode := k.add(g, call(0), copyNode)
		recordNode := k.add(g, driver.RecordOp(e1), hostNode)
		waitNode := k.add(g, driver.WaitOp(e1), recordNode)
		x := k.exec(g)
		k.run(x)
		k.expect(out, 3)
		k.ok(x.Set(fillNode, fill(8)))
		k.run(x)
		k.expect(out, 8)
		k.ok(x.Set(copyNode, from(b)))
		k.ok(x.Set(hostNode, call(1)))
		k.ok(x.Set(recordNode, driver.RecordOp(e2)))
		k.ok(x.Set(waitNode, driver.WaitOp(e2)))
		k.run(x)
		k.expect(out, 70)
		if calls != [2]int{2, 1} {
			k.Errorf("calls %v, want the first twice and the second once", calls)
		}
		for _, op := range []driver.Op{fill(1), from(b), call(0), driver.RecordOp(e1), driver.WaitOp(e1)} {
			n := map[string]graph.Node{"*driver.FillOp": fillNode}[typeName(op)]
			if n.IsZero() {
				continue
			}
			k.ok(n.Set(op))
		}
		k.ok(copyNode.Set(from(b)))
		k.ok(hostNode.Set(call(0)))
		k.ok(recordNode.Set(driver.RecordOp(e1)))
		k.ok(waitNode.Set(driver.WaitOp(e1)))
	})
}

func TestSetBatchChangesManyNodes(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.memory()
		g := k.graph()
		ops := make([]driver.Op, 10)
		for i := range ops {
			ops[i] = k.launch(k.plus, b, uint32(i))
		}
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		x := k.exec(g)
		changes := make([]graph.Change, len(nodes))
		for i, n := range nodes {
			l := ops[i].(*driver.Launch)
			k.ok(driver.SetArg(l, 2, uint32(100+i)))
			changes[i] = graph.Change{Node: n, Op: l}
		}
		k.ok(x.SetBatch(changes))
		k.run(x)
		k.expect(b, 1046)
		changes[4].Op = k.launch(k.plus, other, 7)
		changes[5].Op = k.launch(k.times, b, 0)
		k.ok(x.SetBatch(changes))
		k.run(x)
		k.expect(other, 8)
		k.expect(b, 106+107+108+109)

		gone := k.memoryOf(1)
		dead := k.launch(k.plus, gone, 1)
		k.ok(gone.Close())
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
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 5))
		k.add(g, k.launch(k.times, b, 2), first)
		x := k.exec(g)
		k.ok(x.Enable(first, false))
		if on, err := x.Enabled(first); on || err != nil {
			k.Errorf("enabled %v, %v", on, err)
		}
		k.run(x)
		k.expect(b, 2)
		k.ok(x.Enable(first, true))
		k.run(x)
		k.expect(b, 14)
	})
}

func TestBadInputToExecs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		op := k.launch(k.plus, b, 1)
		g, other := k.graph(), k.graph()
		n, foreign := k.add(g, op), k.add(other, op)
		x := k.exec(g)
		closed, err := g.Instantiate()
		k.ok(err)
		k.ok(closed.Close())
		k.ok(closed.Close())
		var none *graph.Exec
		k.ok(none.Close())
		s, err := k.c.NewStream()
		k.ok(err)
		k.ok(s.Close())
		fill, err := driver.Fill[uint32](b, 1)
		k.ok(err)
		closedGraph, err := graph.New(k.c)
		k.ok(err)
		lost := k.add(closedGraph, op)
		orphan := k.exec(closedGraph)
		k.ok(closedGraph.Close())
		cases := []struct {
			name string
			want error
			err  error
		}{
			{"launch of a closed exec", driver.ErrClosed, closed.Launch(k.s)},
			{"launch of nil", driver.CUDA_ERROR_INVALID_VALUE, none.Launch(k.s)},
			{"launch on a closed stream", driver.ErrClosed, x.Launch(s)},
			{"launch on nil", driver.CUDA_ERROR_INVALID_VALUE, x.Launch(nil)},
			{"upload of a closed exec", driver.ErrClosed, closed.Upload(k.s)},
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
		k.run(x)
		k.expect(b, 2)
	})
}

func updateError(x *graph.Exec, g *graph.Graph) error {
	_, err := x.Update(g)
	return err
}

// Memory that an exec is changed away from is let go of when no launch that is
// under way uses it, and memory that it is changed to stays.
func TestSetKeepsTheNewAndLetsTheOldGo(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		g := k.graph()
		add := func(v uint32) (*driver.Buffer[uint32], *driver.Launch) {
			b := k.memoryOf(v)
			l, err := k.sum.Prepare(config, out, out, b, uint32(elems))
			k.ok(err)
			return b, l
		}
		b, l := add(1)
		n := k.add(g, l)
		x := k.exec(g)
		k.ok(b.Close())
		want := uint32(1)
		for i := range uint32(200) {
			b, l := add(i)
			k.ok(x.Set(n, l))
			k.ok(b.Close())
			k.ok(x.Launch(k.s))
			want += i
		}
		k.expect(out, want)
		k.ok(x.Wait(background))
		open := 0
		for _, o := range driver.OpenObjects() {
			if strings.HasPrefix(o.Kind, "buffer") && o.Device.Driver() == k.c.Device().Driver() {
				open++
			}
		}
		if open > 3 { // out, the graph's, the exec's
			k.Errorf("%d buffers are kept", open)
		}
	})
}

// An exec that was launched in two streams and closed with everything else while
// it ran leaves goroutines that wait for its launches. Driver.Close waits for
// them: a correct program leaks nothing.
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
		g := k.graph()
		k.add(g, k.launch(k.plus, k.memory(), 1))
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Close())
		if f, err := x.Flags(); f != 0 || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("flags %d, %v", f, err)
		}
	})
}

// A launch runs in the context of its stream, whatever the thread has.
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

// An upload does its work once, until something of the exec is changed.
func TestUploadIsDoneOncePerChange(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	g := k.graph()
	l := k.launch(k.plus, b, 1)
	n := k.add(g, l)
	child, err := g.AddChild(k.captured([]driver.Op{l}, nil))
	k.ok(err)
	x := k.exec(g)
	uploads := func() (n int) {
		lib.Count()
		k.ok(x.Upload(k.s))
		k.ok(x.Upload(k.s))
		for _, c := range lib.Stop() {
			if c.Symbol == "cuGraphUpload" {
				n++
			}
		}
		return n
	}
	bs := x.Bindings()
	p, err := graph.Bind[uint32](bs, n, l, 2)
	k.ok(err)
	for what, change := range map[string]func() error{
		"nothing":  func() error { return nil },
		"Set":      func() error { return x.Set(n, l) },
		"SetBatch": func() error { return x.SetBatch([]graph.Change{{Node: n, Op: l}}) },
		"Enable":   func() error { return x.Enable(n, true) },
		"SetChild": func() error { return x.SetChild(child, k.captured([]driver.Op{l}, nil)) },
		"Update":   func() error { _, err := x.Update(g); return err },
		"Bindings": func() error { p.Set(3); return bs.Send() },
	} {
		k.ok(x.Upload(k.s))
		k.ok(change())
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
	k.run(x)
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
