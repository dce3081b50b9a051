package parity_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// However a capture ends, the stream must no longer be capturing. The closure's error must come
// first in the returned error.
func TestBaracudaCapture(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		op := k.launch(k.plus, b, 1)
		r := must[*graph.Recording](k)(graph.Begin(k.s, graph.ModeGlobal))
		k.ok(r.Scope().Do(op))
		k.run(k.exec(made[*graph.Graph](k)(r.End())))
		k.expect(b, 2)
		for what, end := range map[string]func() error{
			"error":  func() error { return errOwn },
			"panic":  func() error { panic("boom") },
			"Goexit": func() error { runtime.Goexit(); return nil },
		} {
			onAGoroutine(func() {
				defer func() {
					if v := recover(); (v != nil) != (what == "panic") {
						k.Errorf("%s: recovered %v", what, v)
					}
				}()
				if _, err := graph.Capture(k.s, graph.ModeGlobal, func(*graph.Scope) error { return end() }); err != errOwn {
					k.Errorf("%s: %v", what, err)
				}
			})
			k.usable(k.s) // allocates, which an active capture would forbid
		}
	})
}

func TestBaracudaIsCapturing(t *testing.T) {
	each(t, func(k *kit) {
		status := func() (cu.CUstreamCaptureStatus, uint64) {
			st, id, _, err := k.s.CaptureStatus()
			k.ok(err)
			return st, id
		}
		if st, _ := status(); st != cu.CU_STREAM_CAPTURE_STATUS_NONE {
			k.Errorf("before: %v", st)
		}
		var ids []uint64
		for range 2 {
			made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
				st, id := status()
				if st != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || !sc.Active() || id != must[uint64](k)(sc.ID()) {
					k.Errorf("%v with id %d", st, id)
				}
				ids = append(ids, id)
				return nil
			}))
		}
		if ids[0] == ids[1] {
			k.Errorf("two captures with id %d", ids[0])
		}
		if st, _ := status(); st != cu.CU_STREAM_CAPTURE_STATUS_NONE {
			k.Errorf("after: %v", st)
		}
	})
}

// It must be possible to add each kind of node by hand. The node must run and report its type.
func TestBaracudaNodes(t *testing.T) {
	for name, test := range map[string]func(k *kit, g *graph.Graph) (n graph.Node, check func()){
		"empty": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			return must[graph.Node](k)(g.AddEmpty()), func() {}
		},
		"kernel": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			b := k.memory(1)
			return k.add(g, k.launch(k.plus, b, 5)), func() { k.expect(b, 6) }
		},
		"fill of 1 byte": func(k *kit, g *graph.Graph) (graph.Node, func()) { return filled[uint8](k, g, 7) },
		"fill of 2 bytes": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			return filled[uint16](k, g, 0x1234)
		},
		"fill of 4 bytes": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			return filled(k, g, float32(0.5))
		},
		"fill of rows": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			b := k.memory(1)
			op := must[*driver.FillOp](k)(driver.Fill2D[uint32](b.View(1, elems), 9, 8, 2, 3))
			return k.add(g, op), func() {
				got := make([]uint32, elems)
				k.ok(b.CopyTo(got))
				if !slices.Equal(got[:12], []uint32{1, 9, 9, 1, 1, 1, 1, 1, 1, 9, 9, 1}) {
					k.Errorf("%v", got)
				}
			}
		},
		"copy": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			b := k.memory(1)
			return k.add(g, k.copy(b, k.memory(8))), func() { k.expect(b, 8) }
		},
		"host function": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			var calls atomic.Int32
			h := must[*driver.HostFunc](k)(driver.NewHostFunc(k.c, func() { calls.Add(1) }))
			return k.add(g, h), func() {
				if calls.Load() != 1 {
					k.Errorf("%d calls", calls.Load())
				}
			}
		},
		"child graph": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			b := k.memory(1)
			child := k.capture(k.launch(k.plus, b, 2), k.launch(k.times, b, 3))
			return must[graph.Node](k)(g.AddChild(child)), func() { k.expect(b, 9) }
		},
		"event record": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			e := k.event()
			return k.add(g, driver.RecordOp(e)), func() {
				if done, err := e.Query(); !done || err != nil {
					k.Errorf("recorded: %v, %v", done, err)
				}
			}
		},
		"event wait": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			e := k.event()
			k.ok(e.Record(k.s))
			n := k.add(g, driver.WaitOp(e))
			return n, func() {
				if raw := must[driver.CUevent](k)(graph.ParamsOf[driver.CUevent](n)); raw != e.Raw() {
					k.Errorf("it waits for %v", raw)
				}
			}
		},
		"memory operations": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			b := made[*driver.Buffer[uint32]](k)(driver.AllocFrom(k.c, []uint32{1}))
			op := must[*driver.MemOp](k)(driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 77, 0)))
			return k.add(g, op), func() { k.expect(b, 77) }
		},
		"allocation and free": func(k *kit, g *graph.Graph) (graph.Node, func()) {
			out := k.memory(0)
			tmp, alloc, err := graph.AddAlloc(g, must[*driver.AllocOp[uint32]](k)(driver.NewAlloc[uint32](k.c, nil, elems)))
			k.ok(err)
			k.closeLater(tmp)
			use := k.add(g, k.copy(out, tmp), k.add(g, k.fill(tmp, 4), alloc))
			free := must[graph.Node](k)(g.AddFree(must[*driver.FreeOp](k)(driver.NewFree(tmp)), use))
			if p := must[cu.CUDA_MEM_ALLOC_NODE_PARAMS](k)(graph.ParamsOf[cu.CUDA_MEM_ALLOC_NODE_PARAMS](alloc)); p.Dptr != tmp.Ptr() || p.Dptr == 0 {
				k.Errorf("allocated at %#x, the buffer is at %#x", p.Dptr, tmp.Ptr())
			}
			if at := must[driver.CUdeviceptr](k)(graph.ParamsOf[driver.CUdeviceptr](free)); at != tmp.Ptr() {
				k.Errorf("frees %#x", at)
			}
			return alloc, func() { k.expect(out, 4) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				g := k.graph()
				n, check := test(k, g)
				types := map[string]graph.Type{
					"empty": cu.CU_GRAPH_NODE_TYPE_EMPTY, "kernel": cu.CU_GRAPH_NODE_TYPE_KERNEL,
					"fill": cu.CU_GRAPH_NODE_TYPE_MEMSET, "copy": cu.CU_GRAPH_NODE_TYPE_MEMCPY,
					"host": cu.CU_GRAPH_NODE_TYPE_HOST, "child": cu.CU_GRAPH_NODE_TYPE_GRAPH,
					"event record": cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD, "event wait": cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT,
					"memory": cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "allocation": cu.CU_GRAPH_NODE_TYPE_MEM_ALLOC,
				}
				first, _, _ := strings.Cut(name, " ")
				want, ok := types[name]
				if !ok {
					want, ok = types[first]
				}
				if got := must[graph.Type](k)(n.Type()); !ok || got != want {
					k.Errorf("type %v, want %v", got, want)
				}
				k.run(k.exec(g))
				check()
			})
		})
	}
}

// filled adds a node that fills memory with v.
func filled[T comparable](k *kit, g *graph.Graph, v T) (graph.Node, func()) {
	k.Helper()
	b := made[*driver.Buffer[T]](k)(driver.Alloc[T](k.c, elems))
	n := k.add(g, must[*driver.FillOp](k)(driver.Fill(b, v)))
	return n, func() {
		got := make([]T, elems)
		k.ok(b.CopyTo(got))
		for i := range got {
			if got[i] != v {
				k.Fatalf("element %d is %v", i, got[i])
			}
		}
	}
}

func TestBaracudaConditionals(t *testing.T) {
	t.Run("refused before 12.3", func(t *testing.T) {
		gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
			k := newKit(t, c)
			k.want("condition", second(k.graph().NewCond()), driver.ErrNotSupported, "12.3")
		})
	})
	t.Run("raw node with tagged parameters", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			g := k.graph()
			c := must[graph.Cond](k)(g.NewCond(graph.WithDefault(1)))
			p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL}
			q := p.Conditional()
			q.Handle, q.Type, q.Size, q.Ctx = c.Handle(), cu.CU_GRAPH_COND_TYPE_IF, 1, k.c.Raw()
			n := must[graph.Node](k)(g.AddNode(p, nil))
			bodies := must[[]*graph.Graph](k)(n.Bodies())
			k.add(bodies[0], k.launch(k.plus, b, 5))
			k.run(k.exec(g))
			k.expect(b, 6)
		})
	})
	t.Run("bodies run", func(t *testing.T) {
		each(t, func(k *kit) {
			b, rounds, which := k.memory(0), k.memory(0), k.memory(1)
			g := k.graph()
			loop := must[graph.Cond](k)(g.NewCond())
			bound := must[graph.Bound](k)(loop.Within(rounds.View(0, 1), 7))
			start := k.add(g, must[*driver.Launch](k)(bound.Start()))
			last, body, err := g.AddWhile(loop, start)
			k.ok(err)
			round := k.add(body, k.launch(k.plus, b, 1))
			k.add(body, must[*driver.Launch](k)(bound.Next()), round)
			pick := must[graph.Cond](k)(g.NewCond())
			set := k.add(g, must[*driver.Launch](k)(pick.SetTo(which)), last)
			_, bodies, err := g.AddSwitch(pick, 2, set)
			k.ok(err)
			k.add(bodies[0], k.launch(k.times, b, 10))
			k.add(bodies[1], k.launch(k.times, b, 100))
			x := k.exec(g)
			k.run(x)
			k.expect(b, 700)
			k.ok(which.Fill(0))
			k.run(x)
			k.expect(b, 7070)
		})
	})
}

func TestBaracudaDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		g := k.graph()
		from := []graph.Node{k.add(g, k.launch(k.plus, b, 2)), k.add(g, k.launch(k.times, b, 5))}
		to := []graph.Node{from[1], must[graph.Node](k)(g.AddEmpty())}
		added := []graph.Edge{{From: from[0], To: to[0]}, {From: from[1], To: to[1]}}
		k.ok(g.AddEdges(added...))
		if n := k.length(g); n != 3 {
			k.Errorf("%d nodes", n)
		}
		edges := 0
		for e, err := range g.Edges() {
			k.ok(err)
			if i := slices.Index(from, e.From); i < 0 || to[i] != e.To {
				k.Errorf("edge %v", e)
			}
			edges++
		}
		for n, err := range g.Roots() {
			k.ok(err)
			if n != from[0] {
				k.Errorf("root %v", n)
			}
		}
		if after := must[[]graph.Node](k)(from[0].Dependents()); edges != 2 || len(after) != 1 || after[0] != from[1] {
			k.Errorf("%d edges, %v runs before %v", edges, from[0], after)
		}
		k.run(k.exec(g))
		k.expect(b, 15)
		k.ok(g.RemoveEdges(added[1]))
		if deps := must[[]graph.Node](k)(to[1].Dependencies()); len(deps) != 0 {
			k.Errorf("left: %v", deps)
		}
		k.want("an edge to no node", g.AddEdges(graph.Edge{From: from[0]}), driver.CUDA_ERROR_INVALID_VALUE)
	})
}

// A mismatch between graphs must be a result that names the node, not an error.
func TestBaracudaUpdateResult(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		x := k.exec(k.capture(k.launch(k.plus, b, 1)))
		other := k.graph()
		n := k.add(other, k.fill(b, 9))
		k.ok(n.SetName("refill"))
		r, err := x.Update(other)
		k.ok(err)
		if r.Updated() || r.Result != cu.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED || r.Node != n || r.Name != "refill" {
			k.Errorf("%+v", r)
		}
		closed := must[*graph.Graph](k)(graph.New(k.c))
		k.ok(closed.Close())
		if r, err := x.Update(closed); !errors.Is(err, driver.ErrClosed) || r.Updated() {
			k.Errorf("a closed graph: %v, %v", r, err)
		}
		k.run(x)
		k.expect(b, 2)
	})
	t.Run("a call that failed", func(t *testing.T) {
		alter(t, "cuGraphExecUpdate_v2", fails, func(k *kit, on func(bool)) {
			b := k.memory(1)
			g := k.capture(k.launch(k.plus, b, 1))
			x := k.exec(g)
			on(true)
			r, err := x.Update(g)
			on(false)
			k.want("update", err, injected, "cuGraphExecUpdate")
			if r.Updated() {
				k.Errorf("%v", r)
			}
		})
	})
}

func TestBaracudaUnsupported(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.memory(1)
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		write := must[*driver.MemOp](k)(driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 7, 0)))
		k.want("memory operations", second(g.Add(write)), driver.ErrNotSupported, "cuGraphAddBatchMemOpNode", "11.7")
		k.want("arguments", second(n.KernelArgs()), driver.ErrNotSupported, "12.4")
		k.want("raw call", k.c.Driver().CuGraphExecGetFlags(0, nil), driver.ErrNotSupported, "cuGraphExecGetFlags", "12.0")
		k.run(k.exec(g)) // the other nodes work
		k.expect(b, 2)
	})
	each(t, func(k *kit) { // a driver that has the function
		n := k.add(k.graph(), k.launch(k.plus, k.memory(1), 5))
		if args := must[[][]byte](k)(n.KernelArgs()); len(args) != 3 || binary.NativeEndian.Uint32(args[2]) != 5 {
			k.Errorf("arguments %v", args)
		}
	})
}
