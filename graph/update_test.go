package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestUpdateFromARecapture(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		record := func(v uint32) *graph.Graph {
			plus, times := k.Launch(k.Plus, b, v), k.Launch(k.Times, b, 2)
			return k.Capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
		}
		x := k.Exec(record(1))
		want := uint32(1)
		for v := range uint32(6) {
			g := record(v)
			r, err := x.Update(g)
			k.OK(err)
			if !r.Updated() || r.Reason() != "" {
				k.Fatalf("%v", r)
			}
			k.OK(g.Close())
			k.Run(x)
			want = (want + v) * 2
			k.Expect(b, want)
		}
	})
}

func TestUpdateSaysThatTheTopologyChanged(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		longer := k.Graph()
		m := k.Add(longer, k.Launch(k.Plus, b, 1))
		k.Add(longer, k.Launch(k.Plus, b, 1), m)
		r, err := x.Update(longer)
		k.OK(err)
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED {
			k.Errorf("%v (%v)", r, r.Result)
		}
		k.OK(x.Set(n, k.Launch(k.Plus, b, 7)))
		k.Run(x) // the exec must be unchanged
		k.Expect(b, 8)
	})
}

func TestUpdateNamesTheNodeWhoseTypeChanged(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		fill, err := driver.Fill[uint32](b, 9)
		k.OK(err)
		changed := k.Graph()
		n := k.Add(changed, fill)
		k.OK(n.SetName("refill"))
		r, err := x.Update(changed)
		k.OK(err)
		if r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED || r.Node != n {
			k.Errorf("%v (%v, %v)", r, r.Result, r.Node)
		}
		if !strings.Contains(r.String(), "refill") {
			k.Errorf("the node's name is missing: %v", r)
		}
	})
}

func TestApplyUpdatesOrInstantiatesAnewAndSaysWhich(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		chain := func(vs ...uint32) *graph.Graph {
			g := k.Graph()
			var ops []driver.Op
			for _, v := range vs {
				ops = append(ops, k.Launch(k.Plus, b, v))
			}
			_, err := g.AddBatch(nil, graph.Chain(ops))
			k.OK(err)
			return g
		}
		x := k.Exec(chain(1, 2))
		a, err := x.Update(chain(3, 4), graph.WithReinstantiate())
		k.OK(err)
		if a.Reinstantiated || !a.Updated() {
			k.Errorf("same topology: %v", a)
		}
		k.Run(x)
		k.Expect(b, 8)
		longer := chain(10, 20, 30)
		a, err = x.Update(longer, graph.WithReinstantiate())
		k.OK(err)
		if !a.Reinstantiated || a.Updated() || !strings.Contains(a.String(), "anew") {
			k.Errorf("another topology: %v", a)
		}
		if x.Graph() != longer {
			k.Errorf("the exec is of %v, want %v", x.Graph(), longer)
		}
		k.Run(x)
		k.Expect(b, 68)
		if x.Replays() != 2 {
			k.Errorf("%d replays", x.Replays())
		}
	})
}

func TestUpdateKeepsTheNewGraphsMemory(t *testing.T) {
	each(t, func(k *kit) {
		out := k.Memory()
		build := func(v uint32) *graph.Graph {
			add := k.MemoryOf(v)
			sum, err := k.Sum.Prepare(config, out, out, add, uint32(elems))
			k.OK(err)
			g := k.Graph()
			k.Add(g, sum)
			k.OK(add.Close())
			return g
		}
		x := k.Exec(build(1))
		want := uint32(1)
		for v := range uint32(20) {
			g := build(v)
			r, err := x.Update(g)
			k.OK(err)
			if !r.Updated() {
				k.Fatalf("%v", r)
			}
			k.OK(g.Close())
			k.CloseLater(k.MemoryOf(5555)) // would reuse freed memory
			k.Run(x)
			want += v
			k.Expect(out, want)
		}
	})
}

func TestSetAfterAnUpdateFromAnotherGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g, other := k.Graph(), k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		k.Add(other, k.Launch(k.Plus, b, 2))
		x := k.Exec(g)
		r, err := x.Update(other)
		k.OK(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.OK(x.Set(n, k.Launch(k.Plus, b, 30)))
		k.Run(x)
		k.Expect(b, 31)
	})
}

func TestUpdateFromAGraphOfAnotherContextIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		there := k.Beside()
		g, far := k.Graph(), there.Graph()
		k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
		there.Add(far, there.Launch(there.Plus, there.Memory(), 1))
		x := k.Exec(g)
		if _, err := x.Update(far); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("Update: %v", err)
		}
		if _, err := x.Update(far, graph.WithReinstantiate()); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("Apply: %v", err)
		}
		k.Run(x)
	})
}

func TestGraphsForDeviceLaunchAreCheckedBeforeTheCall(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		refused := func(what string, code driver.CUresult, opts ...graph.Option) *graph.InstantiateError {
			k.Helper()
			_, err := g.Instantiate(opts...)
			var e *graph.InstantiateError
			if !errors.As(err, &e) || !errors.Is(err, code) {
				k.Fatalf("%s: %v", what, err)
			}
			return e
		}
		refused("no nodes", driver.CUDA_ERROR_INVALID_VALUE, graph.WithDeviceLaunch())
		refused("auto free", driver.CUDA_ERROR_INVALID_VALUE, graph.WithDeviceLaunch(), graph.WithAutoFree())
		first := k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
		n, err := g.AddEmpty(first)
		k.OK(err)
		k.OK(n.SetName("meeting point"))
		e := refused("an empty node", driver.CUDA_ERROR_INVALID_VALUE, graph.WithDeviceLaunch())
		if e.Node != n || e.Result != cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED || !strings.Contains(e.Error(), "meeting point") {
			k.Errorf("node %v, result %v: %v", e.Node, e.Result, e)
		}
	})
}

func TestDeviceLaunchableExecRunsFromTheHost(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		k.Add(g, k.Launch(k.Times, b, 5), first)
		x := k.Exec(g, graph.WithDeviceLaunch(), graph.WithUpload(k.S))
		flags, err := x.Flags()
		k.OK(err)
		if flags != cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH {
			k.Errorf("flags %v", flags)
		}
		k.Run(x)
		k.Expect(b, 10)
	})
}

func TestFlagsThatAnOldDriverLacksAreNotSupported(t *testing.T) {
	for _, o := range []struct {
		version int
		option  graph.Option
	}{
		{11060, graph.WithNodePriorities()},
		{11080, graph.WithDeviceLaunch()},
	} {
		t.Run(fmt.Sprint(o.version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: o.version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				g := k.Graph()
				k.Add(g, k.Launch(k.Plus, k.Memory(), 1))
				_, err := g.Instantiate(o.option)
				if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "it came with CUDA 1") {
					t.Errorf("got %v", err)
				}
				k.Run(k.Exec(g))
			})
		})
	}
}

// Drivers before CUDA 12.0 do not upload at instantiation, so the library must upload the graph.
func TestUploadWithInstantiateOnAnOldDriver(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11060}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g, graph.WithUpload(k.S))
		if !x.Uploaded() {
			t.Error("not uploaded")
		}
		k.Run(x)
		k.Expect(b, 2)
	})
}

func TestUpdateNamesTheKernelThatDoesNotFit(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		copyOp, err := driver.CopyDevice[uint32](a, b)
		k.OK(err)
		g := k.Graph()
		k.Add(g, copyOp)
		x := k.Exec(g)
		h := k.Capture(func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Times, a, 2)) })
		r, err := x.Update(h)
		k.OK(err)
		if r.Updated() || r.Node.IsZero() || r.Name != "times" || !strings.Contains(r.String(), "(times)") {
			k.Errorf("%v, name %q", r, r.Name)
		}
		n := r.Node
		k.OK(n.SetName("scale"))
		r, err = x.Update(h)
		k.OK(err)
		if r.Name != "scale" || !strings.Contains(r.String(), "(scale)") {
			k.Errorf("%v, name %q", r, r.Name)
		}
	})
}

// The driver cannot change a copy from memory of cuMemAlloc to memory of a pool. The error of Set
// and the result of Update must say so, the Exec must stay unchanged, and a new instantiation must
// work. Drivers other than 580 (CUDA 13.0) may accept the change.
func TestACopyCannotChangeToMemoryOfAPool(t *testing.T) {
	each(t, func(k *kit) {
		from, to := k.MemoryOf(1), k.Memory()
		k.CloseLater(from)
		pooled, err := driver.AllocAsync[uint32](k.S, from.Len())
		k.OK(err)
		k.CloseLater(pooled)
		k.OK(k.S.Do(filled(k, pooled, 2)))
		g, h := k.Graph(), k.Graph()
		n := k.Add(g, copied(k, to, from))
		k.Add(h, copied(k, to, pooled))
		x := k.Exec(g)
		if k.C.Driver().Version() == 13000 {
			k.refusesAPool(x, n, h, copied(k, to, pooled))
			k.Run(x)
			k.Expect(to, 1)
		}
		r, err := x.Update(h, graph.WithReinstantiate())
		k.OK(err)
		if !r.Updated() && !r.Reinstantiated {
			k.Error(r)
		}
		k.Run(x)
		k.Expect(to, 2)
	})
}

func (k *kit) refusesAPool(x *graph.Exec, n graph.Node, h *graph.Graph, op *driver.CopyOp) {
	k.Helper()
	k.saysPool("Set", x.Set(n, op))
	k.saysPool("SetBatch", x.SetBatch([]graph.Change{{Node: n, Op: op}}))
	r, err := x.Update(h)
	k.OK(err)
	if r.Updated() || !strings.Contains(r.String(), "of a pool or arena") {
		k.Errorf("Update: %v", r)
	}
}

func (k *kit) saysPool(name string, err error) {
	k.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "memory of a pool or arena") ||
		!strings.Contains(err.Error(), "WithReinstantiate") {
		k.Errorf("%s: %v", name, err)
	}
}

// It is not known whether drivers refuse tagged parameters for this reason, but the emulator does.
func TestTaggedParametersOfACopyWithMemoryOfAPool(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		from, to := k.Memory(), k.Memory()
		pooled, err := driver.AllocAsync[uint32](k.S, from.Len())
		k.OK(err)
		k.CloseLater(pooled)
		g := k.Graph()
		n := k.Add(g, copied(k, to, from))
		p := cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMCPY}
		*p.Memcpy() = cu.CUDA_MEMCPY_NODE_PARAMS{
			CopyCtx: c.Raw(), CopyParams: *copied(k, to, pooled).Uses().Node.(*cu.CUDA_MEMCPY3D),
		}
		k.saysPool("SetParams", k.Exec(g).SetParams(n, &p))
	})
}

func filled(k *kit, b *driver.Buffer[uint32], v uint32) driver.Op {
	k.Helper()
	op, err := driver.Fill(b, v)
	k.OK(err)
	return op
}

func copied(k *kit, to, from *driver.Buffer[uint32]) *driver.CopyOp {
	k.Helper()
	op, err := driver.CopyDevice(to, from)
	k.OK(err)
	return op
}
