package parity_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// The function must run once, in the requested mode. Afterwards the graph must be uploaded, earlier
// work must have ended, and exactly one Take must return the output.
func TestCudaAsyncCapture(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) { each(t, func(k *kit) { k.captureReady(mode) }) })
	}
}

func (k *kit) captureReady(mode graph.Mode) {
	k.Helper()
	before, out := k.memory(0), k.memory(0)
	k.ok(k.s.Do(k.fill(before, 6)))
	runs := 0
	c := made[*callable.Captured[*driver.Buffer[uint32]]](k)(callable.CaptureReady(background, k.s, mode,
		func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
			runs++
			if sc.Mode() != mode {
				k.Errorf("captured in mode %v", sc.Mode())
			}
			return out, sc.Do(k.sumOf(out, before, before))
		}))
	if done, err := k.s.Query(); !done || err != nil || runs != 1 || !c.Exec.Uploaded() {
		k.Errorf("work before is done: %v, %v; runs %d; uploaded %v", done, err, runs, c.Exec.Uploaded())
	}
	got, ok := c.Output.Take() // typed, without a type assertion
	if !ok || got != out {
		k.Fatalf("output %v, %v", got, ok)
	}
	if again, ok := c.Output.Take(); ok || again != nil {
		k.Errorf("handed out twice: %v", again)
	}
	k.expect(got, 0) // the work was recorded but has not run
	k.run(c.Exec)
	k.expect(got, 12)
}

func TestCudaAsyncErrorMatrix(t *testing.T) {
	t.Run("nothing failed", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			k.run(k.exec(k.capture(k.launch(k.plus, b, 1))))
			k.expect(b, 2)
			k.usable(k.s)
		})
	})
	t.Run("operation failed and capture ended", func(t *testing.T) {
		cell(t, func(*kit) error { return errOwn }, func(k *kit, err error) {
			if err != errOwn {
				k.Errorf("got %v, want the operation's error and no other", err)
			}
		})
	})
	t.Run("operation failed and capture failed", func(t *testing.T) {
		cell(t, func(k *kit) error { k.invalidate(); return errOwn }, func(k *kit, err error) {
			k.want("the first", err, errOwn)
			k.want("the second", err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
			if !strings.HasPrefix(err.Error(), errOwn.Error()) {
				k.Errorf("the first error does not come first: %v", err)
			}
		})
	})
	t.Run("capture failed", func(t *testing.T) {
		cell(t, func(k *kit) error { k.invalidate(); return nil }, func(k *kit, err error) {
			k.want("got", err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "cuMemAlloc")
		})
	})
	t.Run("null graph", cudaAsyncNullGraph)
	t.Run("panic", func(t *testing.T) {
		each(t, func(k *kit) {
			func() {
				defer func() {
					if v := recover(); v != "boom" {
						k.Errorf("the panic became %v", v)
					}
				}()
				_, _ = graph.Capture(k.s, graph.ModeGlobal, func(*graph.Scope) error { panic("boom") })
			}()
			k.usable(k.s)
		})
	})
	t.Run("goroutine exits", func(t *testing.T) {
		each(t, func(k *kit) {
			onAGoroutine(func() {
				_, _ = graph.Capture(k.s, graph.ModeGlobal, func(*graph.Scope) error { runtime.Goexit(); return nil })
			})
			k.usable(k.s)
		})
	})
}

// cell runs record on each driver and checks the resulting error with look. Afterwards no graph may
// exist, no recorded work may have run, and the stream must work.
func cell(t *testing.T, record func(k *kit) error, look func(k *kit, err error)) {
	t.Helper()
	each(t, func(k *kit) {
		b := k.memory(1)
		op := k.launch(k.plus, b, 1)
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			k.ok(sc.Do(op))
			return record(k)
		})
		if g != nil {
			k.Errorf("a graph besides the error: %v", g)
		}
		look(k, err)
		k.usable(k.s)
		k.expect(b, 1)
	})
}

// invalidate makes a call that a capture in ModeGlobal forbids.
func (k *kit) invalidate() {
	if b, err := driver.Alloc[byte](k.c, 64); err == nil {
		k.closeLater(b)
		k.Error("a forbidden call succeeded")
	}
}

func cudaAsyncNullGraph(t *testing.T) {
	var kept driver.CUgraph // the graph that the real capture returned
	noGraph := func(a loader.Args, inner *loader.Proc) uintptr {
		code := a.Forward(inner)
		out := (*driver.CUgraph)(unsafe.Pointer(a.Ptr(1)))
		kept, *out = *out, 0
		return code
	}
	alter(t, "cuStreamEndCapture", noGraph, func(k *kit, on func(bool)) {
		on(true)
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(*graph.Scope) error { return nil })
		on(false)
		if g != nil {
			k.Errorf("got %v", g)
		}
		k.want("null graph", err, graph.ErrEmptyCapture, k.s.String())
		k.ok(k.c.Driver().CuGraphDestroy(kept))
		k.usable(k.s)
	})
}

// If instantiating or uploading fails, the objects that earlier steps created must be destroyed.
// The test fails if any object stays open.
func TestCudaAsyncFailedInstantiateOrUpload(t *testing.T) {
	for _, symbol := range []string{"cuGraphInstantiateWithParams", "cuGraphUpload"} {
		t.Run(symbol, func(t *testing.T) {
			alter(t, symbol, fails, func(k *kit, on func(bool)) {
				b := k.memory(1)
				op := k.launch(k.plus, b, 1)
				on(true)
				c, err := callable.CaptureReady(background, k.s, graph.ModeGlobal, func(sc *graph.Scope) (int, error) {
					return 1, sc.Do(op)
				})
				on(false)
				if c != nil {
					k.Errorf("got %v", c)
				}
				k.want("ready", err, injected, symbol)
				k.usable(k.s)
				k.expect(b, 1)
			})
		})
	}
}

// Staging inputs must not wait. The next launch must run after the staged work, whether on the same
// stream or another.
func TestCudaAsyncUpdate(t *testing.T) {
	for name, other := range map[string]bool{"same stream": false, "other stream": true} {
		t.Run(name, func(t *testing.T) {
			each(t, func(k *kit) {
				in, out := k.memory(0), k.memory(1)
				x := k.exec(k.capture(k.sumOf(out, out, in)))
				k.run(x) // the first launch may wait for the device
				staging := k.s
				if other {
					staging = k.stream()
				}
				ops := []driver.Op{k.fill(in, 40), k.launch(k.plus, in, 1)}
				release := k.blocked(staging)
				k.ok(x.Stage(staging, ops...)) // would never return if it waited
				k.ok(x.Launch(k.s))
				if done, err := k.s.Query(); done || err != nil {
					k.Errorf("the launch overtook its inputs: %v, %v", done, err)
				}
				release()
				k.expect(out, 42)
			})
		})
	}
}

func TestCudaAsyncLaunch(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(1), k.stream()
		x := k.exec(k.capture(k.launch(k.plus, b, 1)))
		k.ok(x.Run(background, k.s)) // waits
		if done, err := k.s.Query(); !done || err != nil {
			k.Errorf("Run returned before the end: %v, %v", done, err)
		}
		release := k.blocked(other)
		k.ok(x.Launch(other)) // does not wait, on a stream that was not captured
		if done, err := other.Query(); done || err != nil {
			k.Errorf("the launch is over before what it runs behind: %v, %v", done, err)
		}
		release()
		k.ok(x.Wait(background))
		k.expect(b, 3)
		if x.Replays() != 2 {
			k.Errorf("%d replays", x.Replays())
		}
	})
}

func TestCudaAsyncScope(t *testing.T) {
	t.Run("operations run one after the other", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			g := k.capture(k.launch(k.plus, b, 2), k.launch(k.times, b, 5), k.launch(k.plus, b, 1))
			k.run(k.exec(g))
			k.expect(b, 16)
		})
	})
	t.Run("no allocations, by type", func(t *testing.T) {
		for _, op := range []any{new(driver.AllocOp[uint32]), new(driver.FreeOp)} {
			if _, ok := op.(driver.Op); ok {
				t.Errorf("Scope.Do takes a %T", op)
			}
		}
	})
	t.Run("stays on its thread", func(t *testing.T) {
		each(t, func(k *kit) {
			made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				thread := loader.ThreadID()
				for range 100 {
					runtime.Gosched()
				}
				if loader.ThreadID() != thread {
					k.Error("the capture went to another thread")
				}
				return nil
			}))
		})
	})
	t.Run("ends with the capture", func(t *testing.T) {
		each(t, func(k *kit) {
			var kept *graph.Scope
			made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error { kept = sc; return nil }))
			k.want("a scope that was kept", kept.Do(k.fill(k.memory(1), 2)), graph.ErrEnded)
		})
	})
	t.Run("other streams run at once", func(t *testing.T) {
		each(t, func(k *kit) {
			b, other := k.memory(1), k.stream()
			op := k.launch(k.plus, b, 41)
			g := made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				k.ok(other.Do(op))
				return other.Wait(background)
			}))
			k.expect(b, 42)
			if n := k.length(g); n != 0 {
				k.Errorf("%d nodes recorded", n)
			}
		})
	})
	t.Run("waiting for the captured stream fails", func(t *testing.T) {
		each(t, func(k *kit) {
			g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Stream().Wait(background) })
			if g != nil || err == nil {
				k.Errorf("got %v, %v", g, err)
			}
			k.usable(k.s)
		})
	})
	t.Run("a second scope on the stream is refused", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			g := made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error {
				k.want("nested", second(graph.Capture(k.s, graph.ModeRelaxed, func(*graph.Scope) error { return nil })),
					driver.CUDA_ERROR_ILLEGAL_STATE)
				return sc.Do(k.launch(k.plus, b, 1))
			}))
			k.run(k.exec(g)) // the first graph is unchanged
			k.expect(b, 2)
		})
	})
}

// A stream must reject a second capture. A process must be able to capture different streams at the
// same time.
func TestCudaAsyncExecutionInsideExecution(t *testing.T) {
	each(t, func(k *kit) {
		a, b, other := k.memory(1), k.memory(1), k.stream()
		r := must[*graph.Recording](k)(graph.Begin(k.s, graph.ModeRelaxed))
		defer r.Abort()
		err := second(graph.Begin(k.s, graph.ModeRelaxed))
		k.want("second on the stream", err, driver.CUDA_ERROR_ILLEGAL_STATE)
		if n := strings.Count(err.Error(), "cudaasync_test.go:"); n != 2 {
			k.Errorf("%d places named, want both: %v", n, err)
		}
		inner := must[*graph.Recording](k)(graph.Begin(other, graph.ModeRelaxed))
		defer inner.Abort()
		k.ok(inner.Scope().Do(k.launch(k.plus, a, 1)))
		k.ok(r.Scope().Do(k.launch(k.plus, b, 2)))
		inside, outside := made[*graph.Graph](k)(inner.End()), made[*graph.Graph](k)(r.End())
		k.run(k.exec(inside)) // the inner graph can also be launched
		k.run(k.exec(outside))
		k.expect(a, 2)
		k.expect(b, 3)
	})
}

func TestCudaAsyncTeardown(t *testing.T) {
	t.Run("any order, any thread, also while it runs", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			g := must[*graph.Graph](k)(graph.New(k.c))
			k.add(g, k.launch(k.plus, b, 1))
			x := must[*graph.Exec](k)(g.Instantiate())
			k.run(x)
			release := k.blocked(k.s)
			k.ok(x.Launch(k.s))
			onAGoroutine(func() {
				if err := errors.Join(g.Close(), x.Close()); err != nil {
					k.Error(err)
				}
			})
			release()
			k.expect(b, 3)
		})
	})
	t.Run("errors are the context's", func(t *testing.T) {
		alter(t, "cuGraphExecDestroy", failsAfterwards, func(k *kit, on func(bool)) {
			d := k.c.Device().Driver()
			c := must[*driver.Context](k)(k.c.Device().PrimaryContext())
			on(true)
			dropExec(k, c)
			gputest.ExpectDropped(k, d, 1)
			on(false)
			errs := c.CleanupErrors()
			if len(errs) != 1 || !errors.Is(errs[0], injected) {
				k.Errorf("kept: %v", errs)
			}
			k.ok(c.Close())
		})
	})
}

// dropExec leaves an executable graph to the garbage collector.
func dropExec(k *kit, c *driver.Context) {
	k.Helper()
	onAGoroutine(func() {
		g, err := graph.New(c)
		if err == nil {
			_, err = g.Instantiate()
		}
		if err := errors.Join(err, g.Close()); err != nil {
			k.Error(err)
		}
	})
}

// layer is a module that contains another module.
type layer struct {
	inner callable.Module[[]uint32, *driver.HostBuffer[uint32]]
}

func (l layer) Forward(in []uint32) ([]uint32, error) {
	out, err := l.inner.Forward(background, in)
	if err != nil {
		return nil, err
	}
	out, err = l.inner.Forward(background, append([]uint32(nil), out.Slice()...))
	return out.Slice(), err
}

func TestCudaAsyncForward(t *testing.T) {
	each(t, func(k *kit) {
		c := made[*callable.Callable[[]uint32, *driver.HostBuffer[uint32]]](k)(callable.New(k.s, k.doubled, nil))
		out := must[[]uint32](k)(layer{c}.Forward([]uint32{1, 2, 3}))
		for i, got := range out {
			if want := uint32(4 * (i + 1)); got != want {
				k.Errorf("element %d is %d, want %d", i, got, want)
			}
		}
		if s := c.Stats(); s.Recorded != 1 || s.Calls != 2 {
			k.Errorf("%+v: want one recording and two replays", s)
		}
	})
}

func (k *kit) doubled(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
	x := callable.StageSlice(t, func(in []uint32) []uint32 { return in })
	t.Launch(k.times, config, x, uint32(x.Len()), uint32(2))
	return callable.Result(t, x), nil
}

// A program must be able to use the launch of an executable graph wherever it can use other
// operations.
func TestCudaAsyncLaunchIsAnOperation(t *testing.T) {
	each(t, func(k *kit) {
		x := k.memory(1)
		inner := made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Do(k.launch(k.plus, x, 1), k.launch(k.times, x, 2))
		}))
		exec := k.exec(inner)
		op := exec.Op()
		k.ok(k.s.Do(op)) // x is now (1+1)·2
		k.expect(x, 4)
		if exec.Replays() != 1 || op.Context() != k.c || !strings.Contains(op.String(), "launch of executable graph") {
			k.Errorf("%d replays of %v", exec.Replays(), op)
		}

		// In a graph built by hand, the operation becomes a child graph.
		g := k.graph()
		first := k.add(g, k.launch(k.plus, x, 1)) // x will be 5
		n := k.add(g, op, first)                  // x will be 12
		k.add(g, k.launch(k.plus, x, 1), n)       // x will be 13
		if kind := must[graph.Type](k)(n.Type()); kind != cu.CU_GRAPH_NODE_TYPE_GRAPH {
			k.Errorf("the node is a %v", kind)
		}
		outer := k.exec(g)
		k.run(outer)
		k.expect(x, 13)

		// In every way of capturing, the operation must run at the position where it was recorded.
		recorded := k.capture(k.launch(k.plus, x, 1), op, k.launch(k.plus, x, 1)) // x will be 14, 30, 31
		k.run(k.exec(recorded))
		k.expect(x, 31)
		if edges := must[int](k)(recorded.Len()); edges != 3 {
			k.Errorf("%d nodes were recorded", edges)
		}
		k.run(k.exec(k.capture(op, k.launch(k.plus, x, 1)))) // x is 64, then 65
		k.expect(x, 65)

		// A child graph node must accept the launch of another executable graph with the same
		// structure.
		other := k.exec(k.capture(k.launch(k.plus, x, 0), k.launch(k.times, x, 1)))
		k.ok(outer.Set(n, other.Op()))
		k.run(outer) // x is 66, 66, 67
		k.expect(x, 67)
		k.ok(other.Stage(k.s, op)) // x is now 136
		k.run(other)
		k.expect(x, 136)

		// Impossible operations must return an error that describes the alternatives.
		for node, err := range inner.Nodes() {
			k.ok(err)
			k.ok(exec.Set(node, k.launch(k.plus, x, 7)))
			break
		}
		_, err := g.Add(op)
		k.want("an executable graph that was changed", err, driver.ErrNotSupported, "has changed", "AddChild")
		_, err = g.AddBatch(nil, []graph.Item{{Op: other.Op()}})
		k.want("in a batch", err, driver.ErrNotSupported, "Graph.Add")
		k.want("for itself", other.Stage(k.s, other.Op()), driver.CUDA_ERROR_INVALID_VALUE, "staged for")
		k.want("nil", k.s.Do((*graph.Exec)(nil).Op()), driver.CUDA_ERROR_INVALID_VALUE)
		k.usable(k.s)
	})
}

func TestCudaAsyncUpdateReturnsItsOutput(t *testing.T) {
	each(t, func(k *kit) {
		x, in := k.memory(1), k.memory(5)
		exec := k.exec(k.capture(k.launch(k.plus, x, 1)))
		staged := must[*driver.Buffer[uint32]](k)(callable.StageValue(exec, k.s, func(do func(...driver.Op) error) (*driver.Buffer[uint32], error) {
			return x, do(k.copy(x, in), k.launch(k.times, x, 2))
		}))
		if staged != x {
			k.Errorf("staged %v", staged)
		}
		k.run(exec) // x is now 5·2 + 1
		k.expect(staged, 11)
		none, err := callable.StageValue(exec, k.s, func(do func(...driver.Op) error) (*driver.Buffer[uint32], error) {
			return x, errors.Join(do(k.copy(x, in)), errOwn)
		})
		if none != nil || !errors.Is(err, errOwn) {
			k.Errorf("%v, %v", none, err)
		}
		closed := must[*driver.Buffer[uint32]](k)(driver.Alloc[uint32](k.c, elems))
		op := k.fill(closed, 1)
		k.ok(closed.Close())
		none, err = callable.StageValue(exec, k.s, func(do func(...driver.Op) error) (*driver.Buffer[uint32], error) {
			_ = do(op) // the closure ignores this error
			return x, nil
		})
		if none != nil || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("%v, %v", none, err)
		}

		// CaptureValue must return the graph together with the capture's output.
		g, out, err := callable.CaptureValue(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
			return x, sc.Do(k.launch(k.plus, x, 1))
		})
		k.run(k.exec(made[*graph.Graph](k)(g, err)))
		if b, ok := out.Take(); !ok || b != x {
			k.Errorf("%v, %v", b, ok)
		}
	})
}
