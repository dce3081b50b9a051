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
