package faulttest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func init() {
	flows = append(flows,
		flow{"scalar", scalarFlow},
		flow{"graph memory", graphMemoryFlow},
		flow{"captured memory, freed with the launch", capturedMemoryFlow},
		flow{"user object", userObjectFlow},
		flow{"cache with fixed blocks", func(k *kit, b *driver.Buffer[uint32]) error { return cacheFlow(k, b) }},
		flow{"cache with nodes", func(k *kit, b *driver.Buffer[uint32]) error { return cacheFlow(k, b, cache.WithAllocNodes()) }},
	)
}

func scalarFlow(k *kit, b *driver.Buffer[uint32]) error {
	s, err := graph.NewScalar(k.C, [4]uint32{1})
	if err != nil {
		return err
	}
	err = errors.Join(s.Set(k.S, [4]uint32{2}), s.Set(k.S, [4]uint32{3}))
	small, smallErr := graph.NewScalar(k.C, uint32(1))
	if smallErr == nil {
		smallErr = errors.Join(small.Set(k.S, 2), small.Close())
	}
	return errors.Join(err, smallErr, k.S.Wait(context.Background()), s.Close())
}

// graphMemoryFlow launches a graph that leaves memory allocated, uses and frees that memory, and
// launches the graph again.
func graphMemoryFlow(k *kit, b *driver.Buffer[uint32]) error {
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	op, err := driver.NewAlloc[uint32](k.C, nil, elems)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	left, n, err := graph.AddAlloc(g, op)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(useMemory(k, g, left, n, op), g.Close(), left.Close())
}

func useMemory(k *kit, g *graph.Graph, left *driver.Buffer[uint32], n graph.Node, op *driver.AllocOp[uint32]) error {
	tmp, n, err := graph.AddAlloc(g, op, n)
	if err != nil {
		return err
	}
	defer tmp.Close()
	move, err := driver.CopyDevice[uint32](left, tmp)
	if err != nil {
		return err
	}
	if n, err = g.Add(move, n); err != nil {
		return err
	}
	free, err := driver.NewFree(tmp)
	if err != nil {
		return err
	}
	if _, err := g.AddFree(free, n); err != nil {
		return err
	}
	x, err := g.Instantiate()
	if err != nil {
		return err
	}
	run := func() error { return x.Run(context.Background(), k.S) }
	if err = run(); err == nil {
		if err = k.S.FreeGraphMemory(left); err == nil {
			err = run()
		}
	}
	_, statsErr := k.C.Device().GraphMemStats()
	return errors.Join(err, statsErr, x.Close(), k.C.Device().ResetGraphMemStats(), k.C.Device().TrimGraphMem())
}

func capturedMemoryFlow(k *kit, b *driver.Buffer[uint32]) error {
	op, err := driver.NewAlloc[uint32](k.C, nil, elems)
	if err != nil {
		return err
	}
	var out *driver.Buffer[uint32]
	err = captureMemory(k, op, &out)
	return errors.Join(err, out.Close())
}

func captureMemory(k *kit, op *driver.AllocOp[uint32], to **driver.Buffer[uint32]) error {
	g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
		out, err := graph.Allocate(sc, op)
		if err != nil {
			return err
		}
		*to = out
		set, err := driver.Fill(out, uint32(1))
		if err != nil {
			return err
		}
		return sc.Do(set)
	})
	if err != nil {
		return err
	}
	x, err := g.Instantiate(graph.WithAutoFree())
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(x.Run(context.Background(), k.S), x.Run(context.Background(), k.S), g.Close(), x.Close())
}

func userObjectFlow(k *kit, b *driver.Buffer[uint32]) error {
	g, err := graph.New(k.C)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	u, err := k.C.NewUserObject(func() { close(done) })
	if err != nil {
		return errors.Join(err, g.Close())
	}
	err = g.RetainUserObject(u, 2)
	if err == nil {
		err = g.ReleaseUserObject(u, 1)
	}
	retained := u.Retain(1)
	err = errors.Join(err, retained)
	if retained == nil {
		err = errors.Join(err, u.Release(1))
	}
	err = errors.Join(err, g.MoveUserObject(u), u.Close(), g.Close())
	if err == nil {
		<-done
	}
	return err
}

func cacheFlow(k *kit, b *driver.Buffer[uint32], opts ...cache.Option) error {
	c, err := cache.New(k.C, opts...)
	if err != nil {
		return err
	}
	err = cacheUse(k, c, b)
	_, trimErr := c.Trim()
	return errors.Join(err, trimErr, c.Close())
}

func cacheUse(k *kit, c *cache.Cache, b *driver.Buffer[uint32]) error {
	outside, err := cache.Alloc[uint32](c, k.S, elems)
	if err != nil {
		return err
	}
	g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
		tmp, err := cache.Alloc[uint32](c, sc.Stream(), elems)
		if err != nil {
			return err
		}
		defer tmp.Close()
		set, err := driver.Fill(tmp, uint32(1))
		if err != nil {
			return err
		}
		move, err := driver.CopyDevice[uint32](b, tmp)
		if err != nil {
			return err
		}
		return errors.Join(sc.Do(set), sc.Do(move), c.Free(sc.Stream(), tmp))
	})
	if err != nil {
		return errors.Join(err, outside.Close())
	}
	return errors.Join(replay(k, g), g.Close(), c.Free(k.S, outside), outside.Close())
}

// subject is a graph with nodes of most kinds, and its Exec.
type subject struct {
	k *kit
	g *graph.Graph
	x *graph.Exec
	b *driver.Buffer[uint32]

	kernel, second, fill, copied, words, host, record, wait, child, empty graph.Node

	launch *driver.Launch
	inside *driver.Launch // launch of the node in inner
	event  *driver.Event
	inner  *graph.Graph
	clone  *graph.Graph
}

func newSubject(k *kit) *subject {
	k.Helper()
	o := &subject{k: k, g: k.Graph(), b: k.Memory(), inner: k.Graph()}
	other := k.Memory()
	o.launch = k.Launch(k.Plus, o.b, 0)
	o.kernel = k.Add(o.g, o.launch)
	o.second = k.Add(o.g, k.Launch(k.Plus, o.b, 0), o.kernel)
	o.fill = k.Fill(o.g, other, 1, o.second)
	o.copied = k.CopyNode(o.g, o.b, other, o.fill)
	word, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](other, 0, 1, 0))
	k.OK(err)
	o.words = k.Add(o.g, word, o.copied)
	host, err := driver.NewHostFunc(k.C, func() {})
	k.OK(err)
	o.host = k.Add(o.g, host, o.words)
	o.event, err = k.C.NewEvent()
	k.OK(err)
	k.CloseLater(o.event)
	o.record = k.Add(o.g, driver.RecordOp(o.event), o.host)
	o.wait = k.Add(o.g, driver.WaitOp(o.event), o.record)
	o.inside = k.Launch(k.Times, o.b, 1)
	k.Add(o.inner, o.inside)
	o.child, err = o.g.AddChild(o.inner, o.wait)
	k.OK(err)
	o.empty, err = o.g.AddEmpty(o.child)
	k.OK(err)
	o.clone, err = o.g.Clone()
	k.OK(err)
	k.CloseLater(o.clone)
	o.x = k.Exec(o.g)
	k.Run(o.x)
	return o
}

// ofGraph lists the methods that use a graph and return errors.
var ofGraph = []struct {
	name string
	run  func(o *subject) error
}{
	{"Node.Type", func(o *subject) error { return graphtest.Second(o.kernel.Type()) }},
	{"Node.KernelParams", func(o *subject) error { return graphtest.Second(graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](o.kernel)) }},
	{"Node.KernelArgs", func(o *subject) error { return graphtest.Second(o.kernel.KernelArgs()) }},
	{"Node.Attribute", func(o *subject) error {
		return graphtest.Second(o.kernel.Attribute(cu.CU_LAUNCH_ATTRIBUTE_PRIORITY))
	}},
	{"Node.SetAttribute", func(o *subject) error {
		var v cu.CUlaunchAttributeValue
		return o.kernel.SetAttribute(cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, v)
	}},
	{"Node.CopyAttributes", func(o *subject) error { return o.second.CopyAttributes(o.kernel) }},
	{"Node.FillParams", func(o *subject) error { return graphtest.Second(graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](o.fill)) }},
	{"Node.CopyParams", func(o *subject) error { return graphtest.Second(graph.ParamsOf[cu.CUDA_MEMCPY3D](o.copied)) }},
	{"Node.MemOpParams", func(o *subject) error {
		return graphtest.Second(graph.ParamsOf[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS](o.words))
	}},
	{"Node.HostParams", func(o *subject) error { return graphtest.Second(graph.ParamsOf[cu.CUDA_HOST_NODE_PARAMS](o.host)) }},
	{"Node.Event of a record", func(o *subject) error { return graphtest.Second(graph.ParamsOf[driver.CUevent](o.record)) }},
	{"Node.Event of a wait", func(o *subject) error { return graphtest.Second(graph.ParamsOf[driver.CUevent](o.wait)) }},
	{"Node.ChildGraph", func(o *subject) error { return graphtest.Second(o.child.ChildGraph()) }},
	{"Node.Dependencies", func(o *subject) error { return graphtest.Second(o.second.Dependencies()) }},
	{"Node.Dependents", func(o *subject) error { return graphtest.Second(o.second.Dependents()) }},
	{"Node.Incoming", func(o *subject) error { return graphtest.Second(o.second.Incoming()) }},
	{"Node.Outgoing", func(o *subject) error { return graphtest.Second(o.second.Outgoing()) }},
	{"Node.FindInClone", func(o *subject) error { return graphtest.Second(o.kernel.FindInClone(o.clone)) }},
	{"Node.Set", func(o *subject) error { return o.kernel.Set(o.launch) }},
	{"Node.Set of a fill", func(o *subject) error {
		op, err := driver.Fill[uint32](o.b, 2)
		if err != nil {
			return err
		}
		return o.fill.Set(op)
	}},
	{"Graph.Add of an empty copy", func(o *subject) error {
		op, err := driver.CopyDevice[uint32](o.b.View(0, 0), o.b.View(0, 0))
		if err != nil {
			return err
		}
		_, err = o.g.Add(op)
		return err
	}},
	{"Node.SetChild", func(o *subject) error { return o.child.SetChild(o.inner) }},
	{"Node.Destroy", func(o *subject) error {
		n, err := o.g.AddEmpty(o.kernel)
		return errors.Join(err, n.Destroy())
	}},
	{"Graph.Len", func(o *subject) error { return graphtest.Second(o.g.Len()) }},
	{"Graph.DriverDOT", func(o *subject) error { return graphtest.Second(o.g.DriverDOT(0)) }},
	{"Graph.Snapshot", func(o *subject) error { return graphtest.Second(o.g.Snapshot()) }},
	{"Graph.Check", func(o *subject) error { return graphtest.Second(o.g.Check()) }},
	{"Graph.Clone", func(o *subject) error { g, err := o.g.Clone(); return errors.Join(err, g.Close()) }},
	{"Graph.Instantiate", func(o *subject) error { x, err := o.g.Instantiate(); return errors.Join(err, x.Close()) }},
	{"Graph.Instantiate with upload", func(o *subject) error {
		x, err := o.g.Instantiate(graph.WithUpload(o.k.S))
		return errors.Join(err, x.Close())
	}},
}

// ofExec lists the methods that use an Exec and return errors.
var ofExec = []struct {
	name string
	run  func(o *subject) error
}{
	{"Exec.Set", func(o *subject) error { return o.x.Set(o.kernel, o.launch) }},
	{"Exec.SetBatch", func(o *subject) error {
		return o.x.SetBatch([]graph.Change{{Node: o.kernel, Op: o.launch}, {Node: o.second, Op: o.launch}})
	}},
	{"Exec.SetChild", func(o *subject) error { return o.x.SetChild(o.child, o.inner) }},
	{"Exec.Enable", func(o *subject) error { return errors.Join(o.x.Enable(o.kernel, true)) }},
	{"Exec.Enabled", func(o *subject) error { return graphtest.Second(o.x.Enabled(o.kernel)) }},
	{"Exec.Snapshot", func(o *subject) error { return graphtest.Second(o.x.Snapshot()) }},
	{"Exec.Flags", func(o *subject) error { return graphtest.Second(o.x.Flags()) }},
	{"Exec.Upload", func(o *subject) error { return o.x.Upload(o.k.S) }},
	{"Exec.Launch", func(o *subject) error { return o.x.Launch(o.k.S) }},
	{"Exec.Run", func(o *subject) error { return o.x.Run(context.Background(), o.k.S) }},
	{"Exec.Wait", func(o *subject) error { return o.x.Wait(context.Background()) }},
	{"Exec.Update", func(o *subject) error { return graphtest.Second(o.x.Update(o.g)) }},
	{"Exec.Apply", func(o *subject) error { return graphtest.Second(o.x.Update(o.g, graph.WithReinstantiate())) }},
	// This runs after Exec.Update, because Node.SetChild has replaced the nested nodes.
	{"Exec.SetBatch of nested nodes", func(o *subject) error {
		part, err := o.child.ChildGraph()
		if err != nil {
			return err
		}
		changes := []graph.Change{{Node: o.kernel, Op: o.launch}}
		for n, err := range part.Nodes() {
			if err != nil {
				return err
			}
			changes = append(changes, graph.Change{Node: n, Op: o.inside})
		}
		return o.x.SetBatch(changes)
	}},
}

// onlyAsked lists driver calls whose failure is not an error of the method. The driver has already
// made the update, and the Exec keeps the old references of nodes that cannot be listed.
var onlyAsked = map[string][]string{"Exec.Update": {"cuGraphGetNodes", "cuGraphNodeGetType"}, "Exec.Apply": {"cuGraphGetNodes", "cuGraphNodeGetType"}}

func TestGraphMethodsReturnTheErrorsOfTheirCalls(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent", "cuCtxGetCurrent")
	o := newSubject(k)
	for _, m := range slices.Concat(ofGraph, ofExec) {
		k.OK(m.run(o))
		k.Wait(k.S)
		lib.Count()
		err := m.run(o)
		calls := lib.Stop()
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for i, c := range calls {
			k.Wait(k.S)
			lib.FailNth(i+1, uint32(graphtest.Injected))
			err := m.run(o)
			made := lib.Stop()
			if !slices.ContainsFunc(made, func(c faulty.Call) bool { return c.Failed }) {
				continue // a wait ended early and made fewer calls
			}
			if !errors.Is(err, graphtest.Injected) && !slices.Contains(onlyAsked[m.name], c.Symbol) {
				t.Errorf("%s: %s failed (call %d of %d), got %v", m.name, c.Symbol, i+1, len(calls), err)
			}
		}
		if err := m.run(o); err != nil {
			t.Errorf("%s after a failure: %v", m.name, err)
		}
	}
	k.Wait(k.S)
}

func TestMethodsOfClosedGraphsSaySo(t *testing.T) {
	each(t, func(k *kit) {
		o := newSubject(k)
		k.Wait(k.S)
		k.OK(o.x.Close())
		for _, m := range ofExec {
			if err := m.run(o); !errors.Is(err, driver.ErrClosed) {
				t.Errorf("%s of a closed executable: %v", m.name, err)
			}
		}
		k.OK(o.g.Close())
		for _, m := range ofGraph {
			if err := m.run(o); !errors.Is(err, driver.ErrClosed) {
				t.Errorf("%s of a closed graph: %v", m.name, err)
			}
		}
	})
}

func TestSnapshotWithMissingDetailsIsAnError(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	g := newSubject(k).g
	k.Alloc(g)
	lib.Count()
	k.Snapshot(g)
	for i, c := range lib.Stop() {
		lib.FailNth(i+1, uint32(graphtest.Injected))
		_, err := g.Snapshot()
		lib.Stop()
		if !errors.Is(err, graphtest.Injected) {
			t.Errorf("%s failed, got %v", c.Symbol, err)
		}
	}
}
