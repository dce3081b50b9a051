package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/internal/gputest"
)

// eachPair runs a test with kits of two devices, on an emulator that has two and
// on a machine with two GPUs.
func eachPair(t *testing.T, test func(k, there *kit)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { onPair(t, gputest.Emulator(t, emulator.Config{Devices: 2}), test) })
	t.Run("gpu", func(t *testing.T) { onPair(t, gputest.GPUs(t, 2), test) })
}

func onPair(t *testing.T, d *driver.Driver, test func(k, there *kit)) {
	t.Helper()
	k := newKit(t, gputest.Context(t, d))
	dev, err := d.Device(1)
	k.ok(err)
	c, err := dev.PrimaryContext()
	k.ok(err)
	k.closeLater(c)
	test(k, newKit(t, c))
}

// move returns a copy between memory of two devices.
func (k *kit) move(dst, src driver.MemoryOf[uint32]) driver.Op {
	k.Helper()
	op, err := driver.CopyDevice(dst, src)
	k.ok(err)
	return op
}

func TestStreamsOfTwoDevicesInOneCapture(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b, back := k.memory(), there.memory(), k.memory()
		g := k.capture(func(sc *graph.Scope) error {
			far, err := sc.Fork(there.s)
			if err != nil {
				return err
			}
			return errors.Join(
				sc.Do(k.launch(k.plus, here, 1)),
				far.Do(there.launch(there.plus, b, 2)),
				sc.Join(far),
				sc.Do(k.move(back, b)),
				sc.Do(k.launch(k.times, back, 10)))
		})
		x := k.exec(g)
		for i := range uint32(3) {
			k.run(x)
			k.expect(here, 2+i)
			there.expect(b, 3+2*i)
			k.expect(back, 10*(3+2*i))
		}
		there.usable(there.s)
	})
}

// Nodes run in their own contexts, wherever the graph is launched.
func TestGraphIsLaunchedInAStreamOfAnotherDevice(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		g := k.graph()
		n := k.add(g, there.launch(there.plus, b, 1))
		n = k.add(g, k.move(here, b), n)
		k.add(g, k.launch(k.plus, here, 5), n)
		x := k.exec(g)
		k.ok(x.Run(context.Background(), there.s))
		k.expect(here, 7)
		k.run(x)
		k.expect(here, 8)
		there.expect(b, 3)
	})
}

func TestNodesOfAnotherDeviceAreSet(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		fill := func(m driver.MemoryOf[uint32], v uint32) driver.Op {
			op, err := driver.Fill(m, v)
			k.ok(err)
			return op
		}
		g := k.graph()
		f := k.add(g, fill(b, 3))
		n := k.add(g, there.launch(there.plus, b, 1), f)
		m := k.add(g, k.move(here, b), n)
		x := k.exec(g)
		k.run(x)
		k.expect(here, 4)
		k.ok(x.Set(f, fill(b, 10)))
		k.ok(x.Set(n, there.launch(there.times, b, 2)))
		k.run(x)
		k.expect(here, 20)
		k.ok(x.SetBatch([]graph.Change{{Node: f, Op: fill(b, 7)}, {Node: n, Op: there.launch(there.plus, b, 1)}}))
		k.run(x)
		k.expect(here, 8)
		// The kernel stays on its device.
		err := x.Set(n, k.launch(k.plus, here, 1))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a kernel of the other device: %v", err)
		}
		// The copy may turn round.
		k.ok(x.Set(m, k.move(here, b)))
		k.run(x)
		k.expect(here, 8)
	})
}

func TestParametersOfAnotherDevicesKernelsAreBound(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		near, far := k.launch(k.plus, here, 1), there.launch(there.plus, b, 1)
		g := k.graph()
		n, m := k.add(g, near), k.add(g, far)
		x := k.exec(g)
		bs := x.Bindings()
		p, err := graph.BindName[uint32](bs, n, near, "v")
		k.ok(err)
		q, err := graph.BindName[uint32](bs, m, far, "v")
		k.ok(err)
		k.ok(p.Set(10))
		k.ok(q.Set(20))
		k.ok(bs.Launch(k.s))
		k.expect(here, 11)
		there.expect(b, 21)
	})
}

func TestGraphOverTwoDevicesIsUpdated(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		build := func(v uint32, first, second *kit, p, q driver.Memory) *graph.Graph {
			g := k.graph()
			n := k.add(g, first.launch(first.plus, p, v))
			k.add(g, second.launch(second.plus, q, v), n)
			return g
		}
		x := k.exec(build(1, k, there, here, b))
		result, err := x.Update(build(5, k, there, here, b))
		k.ok(err)
		if result.Result != cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
			k.Errorf("update: %v", result)
		}
		k.run(x)
		k.expect(here, 6)
		there.expect(b, 6)
		// A kernel cannot change its device; Apply then makes the Exec anew.
		other := build(2, there, k, b, here)
		if result, err = x.Update(other); result.Result == cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
			k.Errorf("kernels changed their devices in an update: %v, %v", result, err)
		}
		applied, err := x.Update(other, graph.WithReinstantiate())
		k.ok(err)
		if !strings.Contains(applied.String(), "instantiated anew") {
			k.Errorf("apply: %v", applied)
		}
		k.run(x)
		k.expect(here, 8)
		there.expect(b, 8)
	})
}

func TestChildAndCloneOfAGraphOverTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		child := k.graph()
		n := k.add(child, there.launch(there.plus, b, 1))
		k.add(child, k.move(here, b), n)
		g := k.graph()
		in, err := g.AddChild(child)
		k.ok(err)
		k.add(g, k.launch(k.times, here, 3), in)
		clone, err := g.Clone()
		k.ok(err)
		k.closeLater(clone)
		k.run(k.exec(g))
		k.expect(here, 6)
		k.run(k.exec(clone))
		k.expect(here, 9)
	})
}

func TestKernelReadsTheOtherDevicesMemoryInAGraph(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		if can, err := k.c.Device().CanAccessPeer(there.c.Device()); err != nil || !can {
			k.Skipf("the devices cannot reach each other's memory (%v)", err)
		}
		here, near, far := k.memory(), k.memory(), there.memory()
		_, err := k.sum.Prepare(config, here, near, far, uint32(elems))
		if err == nil {
			err = errors.New("it was prepared")
		}
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "EnablePeerAccess") {
			k.Errorf("without access: %v", err)
		}
		k.ok(k.c.EnablePeerAccess(there.c))
		defer func() { k.ok(k.c.DisablePeerAccess(there.c)) }()
		sum, err := k.sum.Prepare(config, here, near, far, uint32(elems))
		k.ok(err)
		g := k.graph()
		n := k.add(g, there.launch(there.plus, far, 40))
		k.add(g, sum, n)
		x := k.exec(g)
		for i := range uint32(3) {
			k.run(x)
			k.expect(here, 42+40*i)
		}
	})
}

func TestFlowOrdersWorkOfTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		f := dataflow.New(k.c)
		for _, op := range []driver.Op{
			k.launch(k.plus, here, 1), k.move(b, here), there.launch(there.times, b, 5), k.move(here, b), k.launch(k.plus, here, 2),
		} {
			_, err := f.Add(op)
			k.ok(err)
		}
		g, err := f.Build()
		k.ok(err)
		k.closeLater(g)
		k.run(k.exec(g))
		k.expect(here, 12)
		there.expect(b, 10)
		if checked, err := g.Check(); err != nil || !checked.OK() {
			k.Errorf("check: %v, %v", checked, err)
		}
	})
}

func TestProfileOfAGraphOverTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, here, 1))
		m := k.add(g, there.launch(there.plus, b, 1), n)
		k.add(g, k.move(here, b), m)
		p, err := g.Profile(context.Background(), k.s)
		k.ok(err)
		if p.Profile.Run <= 0 {
			k.Errorf("a run takes %v", p.Profile.Run)
		}
	})
}

// Goroutines change between the devices in every call, without saying so.
func TestGoroutinesWorkOnBothDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		const goroutines, rounds = 8, 20
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				if err := bothDevices(k, there, rounds); err != nil {
					k.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func bothDevices(k, there *kit, rounds int) (err error) {
	s, err := k.c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	far, err := there.c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, far.Close()) }()
	for range rounds {
		if err := aRound(k, there, s, far); err != nil {
			return err
		}
	}
	return nil
}

// aRound captures work of both devices on a stream of the first, with one of the
// second drawn in, runs it and looks at the result.
func aRound(k, there *kit, s, far *driver.Stream) (err error) {
	a, err := driver.Alloc[uint32](k.c, elems)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := driver.Alloc[uint32](there.c, elems)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	fill, err := driver.Fill[uint32](b, 1)
	if err != nil {
		return err
	}
	add, err := there.plus.Prepare(config, b, uint32(elems), uint32(2))
	if err != nil {
		return err
	}
	move, err := driver.CopyDevice[uint32](a, b)
	if err != nil {
		return err
	}
	times, err := k.times.Prepare(config, a, uint32(elems), uint32(7))
	if err != nil {
		return err
	}
	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		side, err := sc.Fork(far)
		if err != nil {
			return err
		}
		return errors.Join(side.Do(fill), side.Do(add), sc.Join(side), sc.Do(move), sc.Do(times))
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if err := x.Run(context.Background(), s); err != nil {
		return err
	}
	var got [elems]uint32
	if err := a.CopyTo(got[:]); err != nil {
		return err
	}
	if got[0] != 21 || got[elems-1] != 21 {
		return errors.New("wrong result of work on both devices")
	}
	return nil
}

func TestBodiesOfConditionalNodesKeepToOneDevice(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		for _, op := range []driver.Op{there.launch(there.plus, b, 1), k.move(here, b)} {
			g := k.graph()
			c, err := g.NewCond(graph.WithDefault(1))
			k.ok(err)
			_, body, err := g.AddIf(c)
			k.ok(err)
			k.add(body, op)
			k.severalContexts(g)
		}
	})
}

func TestGraphForLaunchesByADeviceKeepsToIt(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		g := k.graph()
		n := k.add(g, k.launch(k.plus, k.memory(), 1))
		k.add(g, there.launch(there.plus, there.memory(), 1), n)
		k.severalContexts(g, graph.WithDeviceLaunch())
	})
}

// severalContexts shows that a graph is not instantiated, and why.
func (k *kit) severalContexts(g *graph.Graph, opts ...graph.Option) {
	k.Helper()
	x, err := g.Instantiate(opts...)
	if err == nil {
		err = x.Close()
		k.Errorf("it is instantiated (%v)", err)
		return
	}
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "its nodes are of several contexts") {
		k.Errorf("error %v", err)
	}
}

// The driver's own functions for peers cannot be captured; a CopyOp makes another
// call in a capture.
func TestFunctionsForPeersAreNotCaptured(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.memory(), there.memory()
		d, n := k.c.Driver(), uintptr(4*elems)
		box := cu.CUDA_MEMCPY3D_PEER{
			WidthInBytes: n, Height: 1, Depth: 1,
			SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: b.Ptr(), SrcContext: there.c.Raw(), SrcPitch: n, SrcHeight: 1,
			DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: here.Ptr(), DstContext: k.c.Raw(), DstPitch: n, DstHeight: 1,
		}
		for _, call := range []func() error{
			func() error { return d.CuMemcpy3DPeerAsync(&box, k.s.Raw()) },
			func() error {
				return d.CuMemcpyPeerAsync(here.Ptr(), k.c.Raw(), b.Ptr(), there.c.Raw(), n, k.s.Raw())
			},
		} {
			_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(*graph.Scope) error { return call() })
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("error %v", err)
			}
			k.usable(k.s)
			k.ok(call())
			k.expect(here, 1)
		}
	})
}

// beside returns a kit of a second context on the same device.
func (k *kit) beside() *kit {
	k.Helper()
	c, err := k.c.Device().NewContext(0)
	k.ok(err)
	k.closeLater(c)
	return newKit(k.TB, c)
}

func TestOperationsOfAnotherContextRunInItsOwn(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b := k.memory(), there.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, here, 1))
		n = k.add(g, there.launch(there.plus, b, 4), n)
		fill, err := driver.Fill(b.All().View(0, 1), 9)
		k.ok(err)
		k.add(g, fill, n)
		x := k.exec(g)
		k.run(x)
		k.expect(here, 2)
		got := make([]uint32, elems)
		k.ok(b.CopyTo(got))
		if got[0] != 9 || got[1] != 5 {
			k.Errorf("the other context's memory has %v", got[:2])
		}
	})
}

func TestCopyBetweenContextsInOneGraph(t *testing.T) {
	each(t, func(k *kit) {
		copyBetween(k, k.beside())
	})
}

func TestCopyBetweenDevicesInOneGraph(t *testing.T) {
	t.Run("emulator", func(t *testing.T) { copyBetweenDevices(t, gputest.Emulator(t, emulator.Config{Devices: 2})) })
	t.Run("gpu", func(t *testing.T) { copyBetweenDevices(t, gputest.GPUs(t, 2)) })
}

func copyBetweenDevices(t *testing.T, d *driver.Driver) {
	k := newKit(t, gputest.Context(t, d))
	dev, err := d.Device(1)
	k.ok(err)
	c, err := dev.PrimaryContext()
	k.ok(err)
	k.closeLater(c)
	copyBetween(k, newKit(t, c))
}

// copyBetween changes memory there, copies it here and changes it here: added by
// hand, as a batch and as a plan.
func copyBetween(k, there *kit) {
	k.Helper()
	here, b := k.memory(), there.memory()
	move, err := driver.CopyDevice[uint32](here, b)
	k.ok(err)
	ops := []driver.Op{there.launch(there.plus, b, 4), move, k.launch(k.times, here, 3)}
	p, err := graph.NewPlan(k.c, graph.Chain(ops))
	k.ok(err)
	k.closeLater(p)
	want := uint32(1)
	for _, add := range []func(g *graph.Graph) error{
		func(g *graph.Graph) error {
			n := k.add(g, ops[0])
			n = k.add(g, ops[1], n)
			_, err := g.Add(ops[2], n)
			return err
		},
		func(g *graph.Graph) error { _, err := g.AddBatch(nil, graph.Chain(ops)); return err },
		func(g *graph.Graph) error { _, err := g.AddPlan(p); return err },
	} {
		g := k.graph()
		k.ok(add(g))
		k.run(k.exec(g))
		want += 4
		k.expect(here, want*3)
	}
}

// The calls that set a copy or fill keep the context that the node has; a node
// that is set to an operation of another context takes that one's.
func TestNodesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b, c := k.memory(), there.memory(), there.memoryOf(7)
		there.closeLater(c)
		g := k.graph()
		fillHere, err := driver.Fill[uint32](here, 3)
		k.ok(err)
		fillThere, err := driver.Fill[uint32](b, 5)
		k.ok(err)
		copyThere, err := driver.CopyDevice[uint32](b, c)
		k.ok(err)
		n := k.add(g, fillHere)
		k.ok(n.Set(fillThere))
		k.run(k.exec(g))
		k.expect(here, 1)
		there.expect(b, 5)
		k.ok(n.Set(fillHere))
		last := k.add(g, copyThere, n)
		k.ok(last.Set(copyThere))
		k.run(k.exec(g))
		k.expect(here, 3)
		there.expect(b, 7)
	})
}

func TestExecutablesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		here, b := k.memory(), there.memory()
		fill := func(v uint32) *driver.FillOp {
			op, err := driver.Fill[uint32](b, v)
			k.ok(err)
			return op
		}
		g := k.graph()
		f := k.add(g, fill(3))
		n := k.add(g, there.launch(there.plus, b, 1), f)
		x := k.exec(g)
		k.ok(x.Set(f, fill(10)))
		k.ok(x.Set(n, there.launch(there.times, b, 2)))
		k.run(x)
		there.expect(b, 20)
		// A kernel's context stays.
		if err := x.Set(n, k.launch(k.plus, here, 1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a kernel of another context: %v", err)
		}
		k.run(x)
		there.expect(b, 20)
	})
}

func TestOperationsOfAnotherDriverAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		far := newKit(k.TB, gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"})))
		b := k.memory()
		theirs := far.launch(far.plus, far.memory(), 1)
		g, other := k.graph(), far.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		in, err := g.AddChild(k.graph(), n)
		k.ok(err)
		x := k.exec(g)
		for name, err := range map[string]error{
			"Add":          second(g.Add(theirs)),
			"AddAfter":     second(addAfter(g, theirs, graph.Edge{From: n})),
			"AddChain":     second(g.AddBatch(nil, graph.Chain([]driver.Op{theirs}))),
			"NewChainPlan": second(graph.NewPlan(k.c, graph.Chain([]driver.Op{theirs}))),
			"AddChild":     second(g.AddChild(other)),
			"AddChildMove": second(g.AddChildMove(other)),
			"SetChild":     in.SetChild(other),
			"Set":          n.Set(theirs),
			"Exec.Set":     x.Set(n, theirs),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "another driver") {
				k.Errorf("%s: %v", name, err)
			}
		}
		k.run(x)
		k.expect(b, 2)
	})
}
