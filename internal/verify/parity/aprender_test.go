package parity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Opening a driver must resolve its functions. A call that fails must return its code as an error,
// and calling a missing function must return an error.
func TestAprenderDriver(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		if !d.Has(cu.FnCuGraphLaunch) || d.Version() < driver.MinVersion {
			t.Errorf("version %d without cuGraphLaunch", d.Version())
		}
		_, err := d.Device(1 << 20)
		var failed *driver.Error
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) || !errors.As(err, &failed) || failed.Func != cu.FnCuDeviceGet {
			t.Errorf("got %v", err)
		}
	})
	old := gputest.Emulator(t, emulator.Config{DriverVersion: 11040})
	if err := old.CuCtxGetId(0, new(uint64)); !errors.Is(err, driver.ErrNotSupported) {
		t.Errorf("a function that is not there: %v", err)
	}
}

// A program must be able to build a graph from operations with grids, arguments and dependencies,
// one by one or in a batch, without capturing a stream.
func TestAprenderGraphByHand(t *testing.T) {
	t.Run("empty", func(t *testing.T) {
		each(t, func(k *kit) {
			g := k.graph()
			if n := k.length(g); n != 0 {
				k.Errorf("%d nodes", n)
			}
			k.run(k.exec(g))
		})
	})
	t.Run("node by node", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			g := k.graph()
			first := k.add(g, k.launch(k.plus, b, 2))
			k.add(g, k.launch(k.times, b, 5), first)
			k.run(k.exec(g))
			k.expect(b, 15)
			p := must[cu.CUDA_KERNEL_NODE_PARAMS](k)(graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](first))
			if p.GridDimX != 1 || p.BlockDimX != elems || p.SharedMemBytes != 0 {
				k.Errorf("parameters %+v", p)
			}
		})
	})
	t.Run("batched", func(t *testing.T) {
		each(t, func(k *kit) {
			a, b := k.memory(1), k.memory(1)
			g := k.graph()
			nodes := must[[]graph.Node](k)(g.AddBatch(nil, []graph.Item{
				{Op: k.launch(k.plus, a, 2)}, {Op: k.launch(k.plus, b, 3)}, {Op: k.sumOf(a, a, b), After: []int{0, 1}},
			}))
			if deps := must[[]graph.Node](k)(nodes[2].Dependencies()); len(deps) != 2 {
				k.Errorf("depends on %v", deps)
			}
			k.run(k.exec(g))
			k.expect(a, 7)
		})
	})
	t.Run("where capture is refused", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			ops := []driver.Op{k.launch(k.plus, b, 2), k.launch(k.times, b, 5)}
			if _, err := graph.Capture(k.c.LegacyStream(), graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(ops...) }); err == nil {
				k.Error("the legacy stream was captured")
			}
			g := k.graph() // the same operations in a graph built by hand
			_, err := g.AddBatch(nil, graph.Chain(ops))
			k.ok(err)
			for _, g := range []*graph.Graph{g, k.capture(ops...)} {
				k.ok(b.Fill(1))
				k.run(k.exec(g))
				k.expect(b, 15)
			}
		})
	})
}

// An executable graph must run on a stream that other code created. Objects that a program drops
// must be destroyed and reported.
func TestAprenderInstantiateLaunchDestroy(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		x := k.exec(k.capture(k.launch(k.plus, b, 41)))
		raw := must[*driver.Stream](k)(k.c.BorrowStream(k.s.Raw()))
		k.ok(x.Launch(raw))
		k.expect(b, 42)
		dropExec(k, k.c)
		leaks := gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
		if len(leaks) != 1 || leaks[0].Err != nil || !strings.Contains(leaks[0].Stack, "dropExec") {
			k.Errorf("reported: %v", leaks)
		}
	})
}

// For a step that is captured repeatedly, Update must report whether it accepted the new graph, and
// if not, why. With WithReinstantiate, it must then instantiate the graph anew.
func TestAprenderUpdate(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(0)
		step := func(values ...uint32) *graph.Graph {
			var ops []driver.Op
			for _, v := range values {
				ops = append(ops, k.launch(k.plus, b, v))
			}
			return k.capture(ops...)
		}
		x := k.exec(step(1, 2))
		for v := range uint32(4) {
			if r := must[graph.UpdateResult](k)(x.Update(step(v, 10))); !r.Updated() {
				k.Fatal(r)
			}
			k.run(x)
		}
		k.expect(b, 46)
		longer := step(1, 2, 3)
		r := must[graph.UpdateResult](k)(x.Update(longer))
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED || r.Reason() == "" {
			k.Errorf("another topology: %v (%v)", r, r.Result)
		}
		k.run(x) // still runs the old graph
		k.expect(b, 59)
		if a := must[graph.UpdateResult](k)(x.Update(longer, graph.WithReinstantiate())); !a.Reinstantiated {
			k.Errorf("%v", a)
		}
		if a := must[graph.UpdateResult](k)(x.Update(step(4, 5, 6), graph.WithReinstantiate())); a.Reinstantiated {
			k.Errorf("%v", a)
		}
		k.run(x)
		k.expect(b, 74)
	})
}

func TestAprenderModes(t *testing.T) {
	for i, mode := range []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed} {
		if int(mode) != i {
			t.Errorf("%v is %d, want %d", mode, mode, i)
		}
	}
	if mode := *new(graph.Mode); mode != graph.ModeGlobal {
		t.Errorf("the zero Mode is %v", mode)
	}
	// The capture mode decides whether another goroutine may make a potentially unsafe call.
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			each(t, func(k *kit) {
				refused := func(in func(func())) bool {
					var call error
					g, err := graph.Capture(k.s, mode, func(*graph.Scope) error {
						in(func() { call = allocate(k) })
						return nil
					})
					k.ok(g.Close())
					if (call == nil) != (err == nil) {
						k.Errorf("the call: %v; the capture: %v", call, err)
					}
					return call != nil
				}
				if refused(onAGoroutine) != (mode == graph.ModeGlobal) {
					k.Error("the mode makes no difference for other goroutines")
				}
				if refused(func(f func()) { f() }) != (mode != graph.ModeRelaxed) {
					k.Error("the mode makes no difference for the goroutine that captures")
				}
				k.usable(k.s)
			})
		})
	}
}

func allocate(k *kit) error {
	b, err := driver.Alloc[byte](k.c, 64)
	if err == nil {
		k.closeLater(b)
	}
	return err
}

// Code 901 means that an earlier call invalidated the capture. The error must also name that call.
func TestAprender901(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		op := k.launch(k.plus, b, 1)
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			k.invalidate()
			return sc.Do(op)
		})
		if driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED != 901 {
			k.Error("the code is not 901")
		}
		k.want("got", err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "901", "cuMemAlloc", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
		k.usable(k.s)
	})
}

// Handles that other code in the process owns must work like handles that this module created.
// Closing the borrowed object must not destroy the handle.
func TestAprenderHandlesFromElsewhere(t *testing.T) {
	each(t, func(k *kit) {
		x := k.memory(1)
		own := k.exec(k.capture(k.launch(k.plus, x, 1)))
		event := k.event()

		c := made[*driver.Context](k)(k.c.Device().BorrowContext(k.c.Raw()))
		s := must[*driver.Stream](k)(c.BorrowStream(k.s.Raw()))
		plus := must[*driver.Kernel](k)(c.BorrowKernel(k.plus.Raw()))
		e := must[*driver.Event](k)(c.BorrowEvent(event.Raw()))
		g := must[*graph.Graph](k)(graph.Borrow(c, own.Graph().Raw()))
		exec := must[*graph.Exec](k)(g.BorrowExec(own.Raw()))

		if k.c.Driver().Has(cu.FnCuFuncGetName) && plus.Name() != "plus" {
			k.Errorf("the kernel is called %q", plus.Name())
		}
		step := must[*driver.Launch](k)(plus.Prepare(config, x.Ptr(), uint32(elems), uint32(10)))
		k.ok(s.Do(step)) // x is now 11
		k.ok(s.Record(e))
		k.ok(e.Wait(background))
		if done, err := event.Query(); !done || err != nil {
			k.Errorf("the owner's event: %v, %v", done, err)
		}
		if k.length(g) != 1 {
			k.Errorf("the graph has %d nodes", k.length(g))
		}
		for n, err := range g.Nodes() {
			k.ok(err)
			k.ok(exec.Set(n, step))
		}
		k.ok(exec.Run(background, s)) // x is now 21
		k.expect(x, 21)
		if exec.Replays() != 1 || own.Replays() != 0 {
			k.Errorf("%d replays here, %d at the owner's", exec.Replays(), own.Replays())
		}

		// An update must change either all of an executable graph or nothing.
		again := k.graph()
		k.add(again, must[*driver.Launch](k)(plus.Prepare(config, x.Ptr(), uint32(elems), uint32(100))))
		if how, err := exec.Update(again, graph.WithReinstantiate()); err != nil || how.Reinstantiated {
			k.Errorf("%v, %v", how, err)
		}
		k.ok(exec.Run(background, s)) // x is now 121
		k.add(again, step)
		_, err := exec.Update(again, graph.WithReinstantiate())
		k.want("another structure", err, driver.ErrNotSupported, "borrowed", "instantiated anew")

		k.ok(errors.Join(exec.Close(), g.Close(), e.Close(), s.Close()))
		k.ok(c.Lifetime().Check()) // closing the other objects leaves c open
		k.ok(c.Close())
		k.want("a closed graph", second(g.Len()), driver.ErrClosed)
		k.run(own)                 // 221: every object still exists
		k.run(k.exec(own.Graph())) // 222
		k.ok(errors.Join(k.s.Record(event), event.Wait(background)))
		k.ok(k.s.Do(k.launch(k.plus, x, 1)))
		k.expect(x, 223)

		for what, err := range map[string]error{
			"context": second(k.c.Device().BorrowContext(0)), "event": second(k.c.BorrowEvent(0)),
			"kernel": second(k.c.BorrowKernel(0)), "graph": second(graph.Borrow(k.c, 0)),
			"executable graph": second(k.graph().BorrowExec(0)),
		} {
			k.want("no "+what, err, driver.CUDA_ERROR_INVALID_VALUE, what, "the handle is 0")
		}
		child := made[*graph.Graph](k)(graph.Borrow(k.c, own.Graph().Raw()))
		if k.c.Driver().Version() >= 12090 {
			k.want("handed over", second(k.graph().AddChildMove(child)), driver.CUDA_ERROR_INVALID_VALUE, "borrowed")
		}
	})
}
