package drivertest_test

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
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// eachPair runs a test with kits for two devices, on an emulator with two devices and on a machine
// with two GPUs.
func eachPair(t *testing.T, test func(k, there *kit)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { onPair(t, gputest.Emulator(t, emulator.Config{Devices: 2}), test) })
	t.Run("gpu", func(t *testing.T) { onPair(t, gputest.GPUs(t, 2), test) })
}

func onPair(t *testing.T, d *driver.Driver, test func(k, there *kit)) {
	t.Helper()
	k := newKit(t, gputest.Context(t, d))
	dev, err := d.Device(1)
	k.OK(err)
	c, err := dev.PrimaryContext()
	k.OK(err)
	k.CloseLater(c)
	test(k, newKit(t, c))
}

func (k *kit) move(dst, src driver.MemoryOf[uint32]) driver.Op {
	k.Helper()
	op, err := driver.CopyDevice(dst, src)
	k.OK(err)
	return op
}

func TestStreamsOfTwoDevicesInOneCapture(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b, back := k.Memory(), there.Memory(), k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			far, err := sc.Fork(there.S)
			if err != nil {
				return err
			}
			return errors.Join(
				sc.Do(k.Launch(k.Plus, here, 1)),
				far.Do(there.Launch(there.Plus, b, 2)),
				sc.Join(far),
				sc.Do(k.move(back, b)),
				sc.Do(k.Launch(k.Times, back, 10)))
		})
		x := k.Exec(g)
		for i := range uint32(3) {
			k.Run(x)
			k.Expect(here, 2+i)
			there.Expect(b, 3+2*i)
			k.Expect(back, 10*(3+2*i))
		}
		there.Usable(there.S)
	})
}

// Nodes must run in their own contexts, even if the graph is launched in a stream of another
// device.
func TestGraphIsLaunchedInAStreamOfAnotherDevice(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		g := k.Graph()
		n := k.Add(g, there.Launch(there.Plus, b, 1))
		n = k.Add(g, k.move(here, b), n)
		k.Add(g, k.Launch(k.Plus, here, 5), n)
		x := k.Exec(g)
		k.OK(x.Run(context.Background(), there.S))
		k.Expect(here, 7)
		k.Run(x)
		k.Expect(here, 8)
		there.Expect(b, 3)
	})
}

func TestNodesOfAnotherDeviceAreSet(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		fill := func(m driver.MemoryOf[uint32], v uint32) driver.Op {
			op, err := driver.Fill(m, v)
			k.OK(err)
			return op
		}
		g := k.Graph()
		f := k.Add(g, fill(b, 3))
		n := k.Add(g, there.Launch(there.Plus, b, 1), f)
		m := k.Add(g, k.move(here, b), n)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(here, 4)
		k.OK(x.Set(f, fill(b, 10)))
		k.OK(x.Set(n, there.Launch(there.Times, b, 2)))
		k.Run(x)
		k.Expect(here, 20)
		k.OK(x.SetBatch([]graph.Change{{Node: f, Op: fill(b, 7)}, {Node: n, Op: there.Launch(there.Plus, b, 1)}}))
		k.Run(x)
		k.Expect(here, 8)
		// An Exec cannot move a kernel to another device.
		err := x.Set(n, k.Launch(k.Plus, here, 1))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a kernel of the other device: %v", err)
		}
		// An Exec can reverse the direction of a copy.
		k.OK(x.Set(m, k.move(here, b)))
		k.Run(x)
		k.Expect(here, 8)
	})
}

func TestParametersOfAnotherDevicesKernelsAreBound(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		near, far := k.Launch(k.Plus, here, 1), there.Launch(there.Plus, b, 1)
		g := k.Graph()
		n, m := k.Add(g, near), k.Add(g, far)
		x := k.Exec(g)
		bs := x.Bindings()
		p, err := graph.BindName[uint32](bs, n, near, "v")
		k.OK(err)
		q, err := graph.BindName[uint32](bs, m, far, "v")
		k.OK(err)
		k.OK(p.Set(10))
		k.OK(q.Set(20))
		k.OK(bs.Launch(k.S))
		k.Expect(here, 11)
		there.Expect(b, 21)
	})
}

func TestGraphOverTwoDevicesIsUpdated(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		build := func(v uint32, first, second *kit, p, q driver.Memory) *graph.Graph {
			g := k.Graph()
			n := k.Add(g, first.Launch(first.Plus, p, v))
			k.Add(g, second.Launch(second.Plus, q, v), n)
			return g
		}
		x := k.Exec(build(1, k, there, here, b))
		result, err := x.Update(build(5, k, there, here, b))
		k.OK(err)
		if result.Result != cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
			k.Errorf("update: %v", result)
		}
		k.Run(x)
		k.Expect(here, 6)
		there.Expect(b, 6)
		// An update cannot change the device of a kernel, so Update with WithReinstantiate must
		// instantiate anew.
		other := build(2, there, k, b, here)
		if result, err = x.Update(other); result.Result == cu.CU_GRAPH_EXEC_UPDATE_SUCCESS {
			k.Errorf("kernels changed their devices in an update: %v, %v", result, err)
		}
		applied, err := x.Update(other, graph.WithReinstantiate())
		k.OK(err)
		if !strings.Contains(applied.String(), "instantiated anew") {
			k.Errorf("apply: %v", applied)
		}
		k.Run(x)
		k.Expect(here, 8)
		there.Expect(b, 8)
	})
}

func TestChildAndCloneOfAGraphOverTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		child := k.Graph()
		n := k.Add(child, there.Launch(there.Plus, b, 1))
		k.Add(child, k.move(here, b), n)
		g := k.Graph()
		in, err := g.AddChild(child)
		k.OK(err)
		k.Add(g, k.Launch(k.Times, here, 3), in)
		clone, err := g.Clone()
		k.OK(err)
		k.CloseLater(clone)
		k.Run(k.Exec(g))
		k.Expect(here, 6)
		k.Run(k.Exec(clone))
		k.Expect(here, 9)
	})
}

func TestKernelReadsTheOtherDevicesMemoryInAGraph(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		if can, err := k.C.Device().CanAccessPeer(there.C.Device()); err != nil || !can {
			k.Skipf("the devices cannot reach each other's memory (%v)", err)
		}
		here, near, far := k.Memory(), k.Memory(), there.Memory()
		_, err := k.Sum.Prepare(config, here, near, far, uint32(elems))
		if err == nil {
			err = errors.New("it was prepared")
		}
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "EnablePeerAccess") {
			k.Errorf("without access: %v", err)
		}
		k.OK(k.C.EnablePeerAccess(there.C))
		defer func() { k.OK(k.C.DisablePeerAccess(there.C)) }()
		sum, err := k.Sum.Prepare(config, here, near, far, uint32(elems))
		k.OK(err)
		g := k.Graph()
		n := k.Add(g, there.Launch(there.Plus, far, 40))
		k.Add(g, sum, n)
		x := k.Exec(g)
		for i := range uint32(3) {
			k.Run(x)
			k.Expect(here, 42+40*i)
		}
	})
}

func TestFlowOrdersWorkOfTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		f := dataflow.New(k.C)
		for _, op := range []driver.Op{
			k.Launch(k.Plus, here, 1), k.move(b, here), there.Launch(there.Times, b, 5), k.move(here, b), k.Launch(k.Plus, here, 2),
		} {
			_, err := f.Add(op)
			k.OK(err)
		}
		g, err := f.Build()
		k.OK(err)
		k.CloseLater(g)
		k.Run(k.Exec(g))
		k.Expect(here, 12)
		there.Expect(b, 10)
		if checked, err := g.Check(); err != nil || !checked.OK() {
			k.Errorf("check: %v, %v", checked, err)
		}
	})
}

func TestProfileOfAGraphOverTwoDevices(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, here, 1))
		m := k.Add(g, there.Launch(there.Plus, b, 1), n)
		k.Add(g, k.move(here, b), m)
		p, err := g.Profile(context.Background(), k.S)
		k.OK(err)
		if p.Profile.Run <= 0 {
			k.Errorf("a run takes %v", p.Profile.Run)
		}
	})
}

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
	s, err := k.C.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	far, err := there.C.NewStream()
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

// aRound captures work on both devices. The capture begins on a stream of the first device and
// forks to a stream of the second. Then aRound runs the graph and checks the result.
func aRound(k, there *kit, s, far *driver.Stream) (err error) {
	a, err := driver.Alloc[uint32](k.C, elems)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := driver.Alloc[uint32](there.C, elems)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	fill, err := driver.Fill[uint32](b, 1)
	if err != nil {
		return err
	}
	add, err := there.Plus.Prepare(config, b, uint32(elems), uint32(2))
	if err != nil {
		return err
	}
	move, err := driver.CopyDevice[uint32](a, b)
	if err != nil {
		return err
	}
	times, err := k.Times.Prepare(config, a, uint32(elems), uint32(7))
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
		here, b := k.Memory(), there.Memory()
		for _, op := range []driver.Op{there.Launch(there.Plus, b, 1), k.move(here, b)} {
			g := k.Graph()
			c, err := g.NewCond(graph.WithDefault(1))
			k.OK(err)
			_, body, err := g.AddIf(c)
			k.OK(err)
			k.Add(body, op)
			k.severalContexts(g)
		}
	})
}

func TestGraphForLaunchesByADeviceKeepsToIt(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
		k.Add(g, there.Launch(there.Plus, there.Memory(), 1), n)
		k.severalContexts(g, graph.WithDeviceLaunch())
	})
}

// severalContexts checks that instantiation fails because the nodes belong to several contexts.
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

// CUDA cannot capture its functions for copies between peers, so in a capture a CopyOp must call a
// different function.
func TestFunctionsForPeersAreNotCaptured(t *testing.T) {
	eachPair(t, func(k, there *kit) {
		here, b := k.Memory(), there.Memory()
		d, n := k.C.Driver(), uintptr(4*elems)
		box := cu.CUDA_MEMCPY3D_PEER{
			WidthInBytes: n, Height: 1, Depth: 1,
			SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: b.Ptr(), SrcContext: there.C.Raw(), SrcPitch: n, SrcHeight: 1,
			DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: here.Ptr(), DstContext: k.C.Raw(), DstPitch: n, DstHeight: 1,
		}
		for _, call := range []func() error{
			func() error { return d.CuMemcpy3DPeerAsync(&box, k.S.Raw()) },
			func() error {
				return d.CuMemcpyPeerAsync(here.Ptr(), k.C.Raw(), b.Ptr(), there.C.Raw(), n, k.S.Raw())
			},
		} {
			_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(*graph.Scope) error { return call() })
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("error %v", err)
			}
			k.Usable(k.S)
			k.OK(call())
			k.Expect(here, 1)
		}
	})
}

func TestOperationsOfAnotherContextRunInItsOwn(t *testing.T) {
	each(t, func(k *kit) {
		there := k.Beside()
		here, b := k.Memory(), there.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, here, 1))
		n = k.Add(g, there.Launch(there.Plus, b, 4), n)
		fill, err := driver.Fill(b.All().View(0, 1), 9)
		k.OK(err)
		k.Add(g, fill, n)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(here, 2)
		got := make([]uint32, elems)
		k.OK(b.CopyTo(got))
		if got[0] != 9 || got[1] != 5 {
			k.Errorf("the other context's memory has %v", got[:2])
		}
	})
}

func TestCopyBetweenContextsInOneGraph(t *testing.T) {
	each(t, func(k *kit) {
		copyBetween(k, &kit{k.Beside()})
	})
}

func TestCopyBetweenDevicesInOneGraph(t *testing.T) {
	t.Run("emulator", func(t *testing.T) { copyBetweenDevices(t, gputest.Emulator(t, emulator.Config{Devices: 2})) })
	t.Run("gpu", func(t *testing.T) { copyBetweenDevices(t, gputest.GPUs(t, 2)) })
}

func copyBetweenDevices(t *testing.T, d *driver.Driver) {
	k := newKit(t, gputest.Context(t, d))
	dev, err := d.Device(1)
	k.OK(err)
	c, err := dev.PrimaryContext()
	k.OK(err)
	k.CloseLater(c)
	copyBetween(k, newKit(t, c))
}

// copyBetween changes memory of the other device, copies it to this device and changes the copy. It
// builds this graph in three ways: node by node, as a batch and as a plan.
func copyBetween(k, there *kit) {
	k.Helper()
	here, b := k.Memory(), there.Memory()
	move, err := driver.CopyDevice[uint32](here, b)
	k.OK(err)
	ops := []driver.Op{there.Launch(there.Plus, b, 4), move, k.Launch(k.Times, here, 3)}
	p, err := graph.NewPlan(k.C, graph.Chain(ops))
	k.OK(err)
	k.CloseLater(p)
	want := uint32(1)
	for _, add := range []func(g *graph.Graph) error{
		func(g *graph.Graph) error {
			n := k.Add(g, ops[0])
			n = k.Add(g, ops[1], n)
			_, err := g.Add(ops[2], n)
			return err
		},
		func(g *graph.Graph) error { _, err := g.AddBatch(nil, graph.Chain(ops)); return err },
		func(g *graph.Graph) error { _, err := g.AddPlan(p); return err },
	} {
		g := k.Graph()
		k.OK(add(g))
		k.Run(k.Exec(g))
		want += 4
		k.Expect(here, want*3)
	}
}

// A copy or fill node that is set to an operation of another context must run in that context.
// CUDA's type-specific calls would keep the node's context.
func TestNodesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.Beside()
		here, b, c := k.Memory(), there.Memory(), there.MemoryOf(7)
		there.CloseLater(c)
		g := k.Graph()
		fillHere, err := driver.Fill[uint32](here, 3)
		k.OK(err)
		fillThere, err := driver.Fill[uint32](b, 5)
		k.OK(err)
		copyThere, err := driver.CopyDevice[uint32](b, c)
		k.OK(err)
		n := k.Add(g, fillHere)
		k.OK(n.Set(fillThere))
		k.Run(k.Exec(g))
		k.Expect(here, 1)
		there.Expect(b, 5)
		k.OK(n.Set(fillHere))
		last := k.Add(g, copyThere, n)
		k.OK(last.Set(copyThere))
		k.Run(k.Exec(g))
		k.Expect(here, 3)
		there.Expect(b, 7)
	})
}

func TestExecutablesAreSetToOperationsOfAnotherContext(t *testing.T) {
	each(t, func(k *kit) {
		there := k.Beside()
		here, b := k.Memory(), there.Memory()
		fill := func(v uint32) *driver.FillOp {
			op, err := driver.Fill[uint32](b, v)
			k.OK(err)
			return op
		}
		g := k.Graph()
		f := k.Add(g, fill(3))
		n := k.Add(g, there.Launch(there.Plus, b, 1), f)
		x := k.Exec(g)
		k.OK(x.Set(f, fill(10)))
		k.OK(x.Set(n, there.Launch(there.Times, b, 2)))
		k.Run(x)
		there.Expect(b, 20)
		// An Exec cannot change the context of a kernel.
		if err := x.Set(n, k.Launch(k.Plus, here, 1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a kernel of another context: %v", err)
		}
		k.Run(x)
		there.Expect(b, 20)
	})
}

func TestOperationsOfAnotherDriverAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		far := newKit(k.TB, gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"})))
		b := k.Memory()
		theirs := far.Launch(far.Plus, far.Memory(), 1)
		g, other := k.Graph(), far.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		in, err := g.AddChild(k.Graph(), n)
		k.OK(err)
		x := k.Exec(g)
		for name, err := range map[string]error{
			"Add":          graphtest.Second(g.Add(theirs)),
			"AddAfter":     graphtest.Second(graphtest.AddAfter(g, theirs, graph.Edge{From: n})),
			"AddChain":     graphtest.Second(g.AddBatch(nil, graph.Chain([]driver.Op{theirs}))),
			"NewChainPlan": graphtest.Second(graph.NewPlan(k.C, graph.Chain([]driver.Op{theirs}))),
			"AddChild":     graphtest.Second(g.AddChild(other)),
			"AddChildMove": graphtest.Second(g.AddChildMove(other)),
			"SetChild":     in.SetChild(other),
			"Set":          n.Set(theirs),
			"Exec.Set":     x.Set(n, theirs),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "another driver") {
				k.Errorf("%s: %v", name, err)
			}
		}
		k.Run(x)
		k.Expect(b, 2)
	})
}
