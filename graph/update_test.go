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
		b := k.memory()
		record := func(v uint32) *graph.Graph {
			plus, times := k.launch(k.plus, b, v), k.launch(k.times, b, 2)
			return k.capture(func(sc *graph.Scope) error { return errors.Join(sc.Do(plus), sc.Do(times)) })
		}
		x := k.exec(record(1))
		want := uint32(1)
		for v := range uint32(6) {
			g := record(v)
			r, err := x.Update(g)
			k.ok(err)
			if !r.Updated() || r.Reason() != "" {
				k.Fatalf("%v", r)
			}
			k.ok(g.Close())
			k.run(x)
			want = (want + v) * 2
			k.expect(b, want)
		}
	})
}

func TestUpdateSaysThatTheTopologyChanged(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		longer := k.graph()
		m := k.add(longer, k.launch(k.plus, b, 1))
		k.add(longer, k.launch(k.plus, b, 1), m)
		r, err := x.Update(longer)
		k.ok(err)
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED {
			k.Errorf("%v (%v)", r, r.Result)
		}
		k.ok(x.Set(n, k.launch(k.plus, b, 7)))
		k.run(x) // as it was
		k.expect(b, 8)
	})
}

func TestUpdateNamesTheNodeWhoseTypeChanged(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		fill, err := driver.Fill[uint32](b, 9)
		k.ok(err)
		changed := k.graph()
		n := k.add(changed, fill)
		k.ok(n.SetName("refill"))
		r, err := x.Update(changed)
		k.ok(err)
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
		b := k.memory()
		chain := func(vs ...uint32) *graph.Graph {
			g := k.graph()
			var ops []driver.Op
			for _, v := range vs {
				ops = append(ops, k.launch(k.plus, b, v))
			}
			_, err := g.AddBatch(nil, graph.Chain(ops))
			k.ok(err)
			return g
		}
		x := k.exec(chain(1, 2))
		a, err := x.Update(chain(3, 4), graph.WithReinstantiate())
		k.ok(err)
		if a.Reinstantiated || !a.Updated() {
			k.Errorf("same topology: %v", a)
		}
		k.run(x)
		k.expect(b, 8)
		longer := chain(10, 20, 30)
		a, err = x.Update(longer, graph.WithReinstantiate())
		k.ok(err)
		if !a.Reinstantiated || a.Updated() || !strings.Contains(a.String(), "anew") {
			k.Errorf("another topology: %v", a)
		}
		if x.Graph() != longer {
			k.Errorf("the exec is of %v, want %v", x.Graph(), longer)
		}
		k.run(x)
		k.expect(b, 68)
		if x.Replays() != 2 {
			k.Errorf("%d replays", x.Replays())
		}
	})
}

func TestUpdateKeepsTheNewGraphsMemory(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		build := func(v uint32) *graph.Graph {
			add := k.memoryOf(v)
			sum, err := k.sum.Prepare(config, out, out, add, uint32(elems))
			k.ok(err)
			g := k.graph()
			k.add(g, sum)
			k.ok(add.Close())
			return g
		}
		x := k.exec(build(1))
		want := uint32(1)
		for v := range uint32(20) {
			g := build(v)
			r, err := x.Update(g)
			k.ok(err)
			if !r.Updated() {
				k.Fatalf("%v", r)
			}
			k.ok(g.Close())
			k.closeLater(k.memoryOf(5555)) // takes what was freed, if anything was
			k.run(x)
			want += v
			k.expect(out, want)
		}
	})
}

func TestSetAfterAnUpdateFromAnotherGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g, other := k.graph(), k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		k.add(other, k.launch(k.plus, b, 2))
		x := k.exec(g)
		r, err := x.Update(other)
		k.ok(err)
		if !r.Updated() {
			k.Fatalf("%v", r)
		}
		k.ok(x.Set(n, k.launch(k.plus, b, 30)))
		k.run(x)
		k.expect(b, 31)
	})
}

func TestUpdateFromAGraphOfAnotherContextIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		there := k.beside()
		g, far := k.graph(), there.graph()
		k.add(g, k.launch(k.plus, k.memory(), 1))
		there.add(far, there.launch(there.plus, there.memory(), 1))
		x := k.exec(g)
		if _, err := x.Update(far); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("Update: %v", err)
		}
		if _, err := x.Update(far, graph.WithReinstantiate()); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("Apply: %v", err)
		}
		k.run(x)
	})
}

func TestGraphsForDeviceLaunchAreCheckedBeforeTheCall(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
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
		first := k.add(g, k.launch(k.plus, k.memory(), 1))
		n, err := g.AddEmpty(first)
		k.ok(err)
		k.ok(n.SetName("meeting point"))
		e := refused("an empty node", driver.CUDA_ERROR_INVALID_VALUE, graph.WithDeviceLaunch())
		if e.Node != n || e.Result != cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED || !strings.Contains(e.Error(), "meeting point") {
			k.Errorf("node %v, result %v: %v", e.Node, e.Result, e)
		}
	})
}

// Kernels can launch it, and the host still can.
func TestDeviceLaunchableExecRunsFromTheHost(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 1))
		k.add(g, k.launch(k.times, b, 5), first)
		x := k.exec(g, graph.WithDeviceLaunch(), graph.WithUpload(k.s))
		flags, err := x.Flags()
		k.ok(err)
		if flags != cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH {
			k.Errorf("flags %v", flags)
		}
		k.run(x)
		k.expect(b, 10)
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
				g := k.graph()
				k.add(g, k.launch(k.plus, k.memory(), 1))
				_, err := g.Instantiate(o.option)
				if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "it came with CUDA 1") {
					t.Errorf("got %v", err)
				}
				k.run(k.exec(g))
			})
		})
	}
}

// Drivers before CUDA 12.0 do not upload when they instantiate; the library does.
func TestUploadWithInstantiateOnAnOldDriver(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11060}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g, graph.WithUpload(k.s))
		if !x.Uploaded() {
			t.Error("not uploaded")
		}
		k.run(x)
		k.expect(b, 2)
	})
}

func TestUpdateNamesTheKernelThatDoesNotFit(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		copyOp, err := driver.CopyDevice[uint32](a, b)
		k.ok(err)
		g := k.graph()
		k.add(g, copyOp)
		x := k.exec(g)
		h := k.capture(func(sc *graph.Scope) error { return sc.Do(k.launch(k.times, a, 2)) })
		r, err := x.Update(h)
		k.ok(err)
		if r.Updated() || r.Node.IsZero() || r.Name != "times" || !strings.Contains(r.String(), "(times)") {
			k.Errorf("%v, name %q", r, r.Name)
		}
		n := r.Node
		k.ok(n.SetName("scale"))
		r, err = x.Update(h)
		k.ok(err)
		if r.Name != "scale" || !strings.Contains(r.String(), "(scale)") {
			k.Errorf("%v, name %q", r, r.Name)
		}
	})
}
