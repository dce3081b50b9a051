package parity_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// An invalidated capture must stay on its stream, with that status, until the program ends it.
func TestFerrotorchCaptureStatus(t *testing.T) {
	each(t, func(k *kit) {
		expect := func(when string, want cu.CUstreamCaptureStatus) {
			if got, _, _, err := k.s.CaptureStatus(); got != want || err != nil {
				k.Errorf("%s: %v, %v, want %v", when, got, err, want)
			}
		}
		expect("before", cu.CU_STREAM_CAPTURE_STATUS_NONE)
		e := k.event()
		r := must[*graph.Recording](k)(graph.Begin(k.s, graph.ModeGlobal))
		defer r.Abort()
		expect("begun", cu.CU_STREAM_CAPTURE_STATUS_ACTIVE)
		k.invalidate()
		expect("after a forbidden call", cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED)
		if r.Scope().Active() {
			k.Error("the scope says that it is active")
		}
		k.want("work before the end", r.Scope().Do(driver.RecordOp(e)), driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
		k.want("end", second(r.End()), driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
		expect("after the end", cu.CU_STREAM_CAPTURE_STATUS_NONE)
		k.usable(k.s)
	})
}

// The address of a scalar must not change, and Set must read the value before it returns. A new
// value must not overwrite an earlier one that the device has not used yet.
func TestFerrotorchScalar(t *testing.T) {
	each(t, func(k *kit) {
		const replays = 40
		b := k.memory(0)
		step := made[*graph.Scalar[uint32]](k)(graph.NewScalar(k.c, uint32(0)))
		wide := made[*graph.Scalar[uint64]](k)(graph.NewScalar(k.c, uint64(0)))
		seen := made[*driver.Buffer[uint64]](k)(driver.Alloc[uint64](k.c, replays))
		x := k.exec(k.capture(k.sumOf(b, b, step)))
		k.run(x)
		at := step.Ptr()
		copies := make([]*driver.CopyOp, replays)
		for i := range copies {
			copies[i] = must[*driver.CopyOp](k)(driver.CopyDevice[uint64](seen.View(i, i+1), wide))
		}
		release := k.blocked(k.s)
		want := uint32(0)
		for i := range uint32(replays) {
			k.ok(step.Set(k.s, i))
			k.ok(wide.Set(k.s, uint64(i)<<33))
			k.ok(x.Launch(k.s))
			k.ok(k.s.Do(copies[i]))
			want += i
		}
		release()
		k.expect(b, want)
		got := make([]uint64, replays)
		k.ok(seen.CopyTo(got))
		for i, v := range got {
			if v != uint64(i)<<33 {
				k.Fatalf("replay %d saw %#x", i, v)
			}
		}
		if step.Ptr() != at {
			k.Error("the address moved")
		}
	})
}

func TestFerrotorchReplaysAndUpload(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory(1)
		x := k.exec(k.capture(k.launch(k.plus, b, 1)))
		if x.Uploaded() || x.Replays() != 0 {
			k.Errorf("at first: uploaded %v, %d replays", x.Uploaded(), x.Replays())
		}
		for range 2 { // the second call has nothing to do
			k.ok(x.Upload(k.s))
		}
		k.expect(b, 1) // nothing has run
		closed := must[*driver.Stream](k)(k.c.NewStream())
		k.ok(closed.Close())
		k.want("launch on a closed stream", x.Launch(closed), driver.ErrClosed)
		for range 3 {
			k.ok(x.Launch(k.s))
		}
		k.expect(b, 4)
		if !x.Uploaded() || x.Replays() != 3 {
			k.Errorf("uploaded %v, %d replays", x.Uploaded(), x.Replays())
		}
		if again := k.exec(x.Graph(), graph.WithUpload(k.s)); !again.Uploaded() {
			k.Error("instantiated with an upload, and not uploaded")
		}
	})
}

// Registered buffers of any type must stay alive as long as a graph or an executable graph retains
// the pool.
func TestFerrotorchPool(t *testing.T) {
	each(t, func(k *kit) {
		p := made[*graph.Pool](k)(graph.NewPool(k.c))
		out := k.memory(0)
		b := must[*driver.Buffer[uint32]](k)(driver.AllocFrom(k.c, slices.Repeat([]uint32{8}, elems)))
		f := must[*driver.Buffer[float64]](k)(driver.Alloc[float64](k.c, 3))
		k.ok(p.Register(b.Ref(), f.Ref()))
		k.ok(p.Register(b.Ref())) // b is registered already
		if p.Len() != 2 || !p.Has(b.Ref()) || p.Has(out.Ref()) {
			k.Errorf("%v", p)
		}
		// The graph contains only the addresses, as after a capture by other code.
		g := must[*graph.Graph](k)(graph.New(k.c))
		k.add(g, must[*driver.Launch](k)(k.sum.Prepare(config, out.Ptr(), b.Ptr(), b.Ptr(), uint32(elems))))
		k.ok(g.Keep(p))
		x := must[*graph.Exec](k)(g.Instantiate())
		k.ok(errors.Join(b.Close(), f.Close(), g.Close()))
		k.want("clear while an exec lives", p.Clear(), driver.CUDA_ERROR_ILLEGAL_STATE)
		k.run(x)
		k.expect(out, 16)

		k.ok(p.Seal())
		k.want("register in a sealed pool", p.Register(out.Ref()), graph.ErrSealed)
		k.ok(p.Unseal())
		k.ok(p.Register(out.Ref()))
		if p.Len() != 3 || p.Sealed() {
			k.Errorf("%v", p)
		}
		k.ok(x.Close())
		k.until("the pool is let go of", func() bool { return !p.InUse() })
		k.ok(p.Clear())
		if p.Len() != 0 {
			k.Errorf("%v", p)
		}
	})
}

// withCalls runs a test on the emulator and on the GPU with a recorder of driver calls.
func withCalls(t *testing.T, test func(k *kit, calls *trace.Recorder)) {
	t.Helper()
	with := func(t *testing.T, lib loader.Library) {
		var calls trace.Recorder
		// This altered library changes no function. Its Close does nothing, so the system's driver
		// stays open.
		d := gputest.Driver(t, trace.Wrap(&altered{Library: lib}, calls.Sink()))
		test(newKit(t, gputest.Context(t, d)), &calls)
	}
	t.Run("emulator", func(t *testing.T) { with(t, emulator.New(emulator.Config{})) })
	t.Run("gpu", func(t *testing.T) { with(t, gputest.GPU(t).Library()) })
}

func TestFerrotorchPoolKeepsAnyValue(t *testing.T) {
	withCalls(t, func(k *kit, calls *trace.Recorder) {
		p := made[*graph.Pool](k)(graph.NewPool(k.c))
		first := must[*driver.Buffer[uint32]](k)(driver.Alloc[uint32](k.c, elems))
		second := must[*driver.Buffer[uint32]](k)(driver.Alloc[uint32](k.c, elems))
		event := must[*driver.Event](k)(k.c.NewEvent())
		pinned := must[*driver.HostBuffer[uint32]](k)(driver.AllocHost[uint32](k.c, elems))
		slice, table := make([]uint32, elems), map[string]int{"a": 1}
		dropped := make(chan bool, 1)
		big := new([1 << 16]byte)
		runtime.AddCleanup(big, func(c chan bool) { c <- true }, dropped)
		k.ok(p.Register(pinned.Ref(), slice, first, event, big, table))
		k.ok(p.Register(second, "text", slice, table, first.View(0, 1), event)) // two of these objects are new to the pool
		if p.Len() != 8 || !p.Has(slice) || p.Has(slice[1:]) || !p.Has(table) || !p.Has(first) || !p.Has("text") || p.Has("other") {
			k.Errorf("%v", p)
		}
		k.want("nil", p.Register(nil), driver.CUDA_ERROR_INVALID_VALUE)
		k.want("a nil buffer", p.Register("new", (*driver.Buffer[uint32])(nil)), driver.CUDA_ERROR_INVALID_VALUE)
		if p.Has("new") {
			k.Error("half of a registration that failed was made")
		}
		k.ok(errors.Join(first.Close(), second.Close(), event.Close(), pinned.Close()))
		big = nil
		runtime.GC()
		select {
		case <-dropped:
			k.Error("the pool does not keep a value")
		default:
		}
		calls.Reset()
		k.ok(p.Clear())
		var order []cu.Function
		for _, c := range calls.Calls() {
			switch c.Function {
			case cu.FnCuMemFree, cu.FnCuEventDestroy, cu.FnCuMemFreeHost:
				order = append(order, c.Function)
			}
		}
		if want := []cu.Function{cu.FnCuMemFreeHost, cu.FnCuMemFree, cu.FnCuEventDestroy, cu.FnCuMemFree}; !slices.Equal(order, want) {
			k.Errorf("released in the order %v, want %v", order, want)
		}
		k.until("the value is let go of", func() bool {
			runtime.GC()
			return len(dropped) == 1
		})
	})
}

func TestFerrotorchSealedPool(t *testing.T) {
	each(t, func(k *kit) {
		b, p := k.memory(1), made[*graph.Pool](k)(graph.NewPool(k.c))
		k.ok(p.Register(b))
		k.ok(p.Seal())
		record := func(s *graph.Scope) error {
			if err := s.Keep(p); err != nil {
				return err
			}
			return s.Do(k.launch(k.plus, b, 1))
		}
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, record)
		k.want("a capture with a sealed pool", err, graph.ErrSealed, "accepts no further graph")
		k.usable(k.s)
		g := k.graph()
		k.want("a graph with a sealed pool", g.Keep(p), graph.ErrSealed)
		k.ok(p.Unseal())
		g = made[*graph.Graph](k)(graph.Capture(k.s, graph.ModeThreadLocal, record))
		k.ok(p.Seal()) // graphs that retain the pool must still work
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

// A *Pool must be usable from several goroutines. Pools have no numeric IDs to pass instead.
func TestFerrotorchPoolsAreShared(t *testing.T) {
	each(t, func(k *kit) {
		p, b := must[*graph.Pool](k)(graph.NewPool(k.c)), k.memory(1)
		shared := make(chan *graph.Pool, 1)
		shared <- p
		onAGoroutine(func() {
			q := <-shared
			if err := q.Register(b, "any value"); err != nil {
				k.Errorf("register: %v", err)
			}
		})
		if !p.Has(b) || !p.Has("any value") || p.Len() != 2 {
			k.Errorf("got %v", p)
		}
		g := k.graph()
		k.ok(g.Keep(p))
		k.ok(p.Close())
		k.want("a closed pool", p.Register(b), driver.ErrClosed)
	})
}

// Graphs that use one arena must use the same addresses. A graph must keep the memory after the arena
// and its plan are closed, and its launch must wait for that of the other graph.
func TestFerrotorchPoolsShareMemory(t *testing.T) {
	each(t, func(k *kit) {
		a := must[*arena.Arena](k)(arena.New(k.c))
		var graphs []*graph.Exec
		var outs []*driver.Buffer[uint32]
		var at []uintptr
		for i, name := range []string{"first", "second"} {
			p, out := must[*arena.Plan](k)(a.Plan(name)), k.memory(0)
			tmp := must[*driver.Buffer[uint32]](k)(arena.Alloc[uint32](p, elems)) // the capture's pool
			at = append(at, uintptr(tmp.Ptr()))
			g := k.capture(must[*driver.FillOp](k)(driver.Fill(tmp, uint32(10))), k.launch(k.plus, tmp, uint32(i)),
				must[*driver.CopyOp](k)(driver.CopyDevice(out, tmp)))
			graphs, outs = append(graphs, k.exec(g)), append(outs, out)
			k.ok(p.Close())
		}
		if at[0] != at[1] {
			k.Errorf("the graphs use different memory, at %#x", at)
		}
		k.ok(a.Close())
		other := k.stream()
		for range 5 {
			k.ok(errors.Join(graphs[0].Launch(k.s), graphs[1].Launch(other)))
		}
		k.wait(other)
		k.expect(outs[0], 10)
		k.expect(outs[1], 11)
	})
}

func TestFerrotorchGuard(t *testing.T) {
	t.Run("finished", func(t *testing.T) {
		each(t, func(k *kit) {
			b, p := k.memory(1), made[*graph.Pool](k)(graph.NewPool(k.c))
			k.ok(p.Register(b.Ref()))
			r := must[*graph.Recording](k)(graph.Begin(k.s, graph.ModeThreadLocal))
			k.ok(r.Scope().Keep(p))
			k.ok(r.Scope().Do(k.launch(k.plus, b, 1)))
			if status, _, err := r.Scope().Status(); status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || err != nil {
				k.Errorf("%v, %v", status, err)
			}
			x := k.exec(made[*graph.Graph](k)(r.End()))
			k.ok(r.Abort()) // nothing is left to abort
			k.run(x)
			k.expect(b, 2)
			if !p.InUse() {
				k.Error("the graph does not hold the pool")
			}
		})
	})
	t.Run("left", func(t *testing.T) {
		each(t, func(k *kit) {
			b := k.memory(1)
			func() {
				r := must[*graph.Recording](k)(graph.Begin(k.s, graph.ModeThreadLocal))
				defer r.Abort()
				k.ok(r.Scope().Do(k.launch(k.plus, b, 1)))
			}()
			k.usable(k.s)
			k.expect(b, 1)
		})
	})
	t.Run("dropped", func(t *testing.T) {
		each(t, func(k *kit) {
			onAGoroutine(func() { dropRecording(k) })
			leaks := gputest.ExpectDropped(k, k.c.Device().Driver(), 1)
			if len(leaks) != 1 || leaks[0].Err != nil || !strings.Contains(leaks[0].Stack, "dropRecording") {
				k.Errorf("reported: %v", leaks)
			}
			k.usable(k.s)
		})
	})
}

// dropRecording begins a capture and drops its Recording.
func dropRecording(k *kit) {
	if _, err := graph.Begin(k.s, graph.ModeThreadLocal); err != nil {
		k.Error(err)
	}
}

func TestFerrotorchCallable(t *testing.T) {
	each(t, func(k *kit) {
		c := made[*callable.Callable[[]uint32, *driver.HostBuffer[uint32]]](k)(
			callable.New(k.s, k.doubled, [][]uint32{{1, 2, 3}}))
		for v := range uint32(3) {
			out := must[*driver.HostBuffer[uint32]](k)(c.Call(background, []uint32{v, v + 1, 5}))
			if want := []uint32{2 * v, 2*v + 2, 10}; !slices.Equal(out.Slice(), want) {
				k.Errorf("%v, want %v", out.Slice(), want)
			}
		}
		failed, err := callable.New(k.s, func(t *callable.Trace[[]uint32]) (*driver.HostBuffer[uint32], error) {
			out, err := k.doubled(t)
			return out, errors.Join(err, errOwn)
		}, [][]uint32{{1}})
		if failed != nil || !errors.Is(err, errOwn) {
			k.Errorf("got %v, %v", failed, err)
		}
		k.usable(k.s)
	})
}

// A program must compute the same results on a GPU and on the emulator. If there is no driver, the
// error must list the places that were searched.
func TestFerrotorchWithoutCUDA(t *testing.T) {
	each(t, func(k *kit) {
		b, host := k.memory(3), k.host()
		x := k.exec(k.capture(k.launch(k.plus, b, 4), k.launch(k.times, b, 6),
			must[*driver.CopyOp](k)(driver.Download[uint32](host, b))))
		k.run(x)
		if got := host.Slice(); got[0] != 42 || got[elems-1] != 42 {
			k.Errorf("%v", got)
		}
	})
	if _, err := driver.SystemLibrary("/nowhere/libcuda.so.1"); err == nil || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1") {
		t.Errorf("got %v", err)
	}
}
