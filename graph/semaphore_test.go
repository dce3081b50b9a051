package graph_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/vulkantest"
)

const (
	timelineFD = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
	opaqueFD   = cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
)

// other is the other API: an emulator that makes semaphores to import.
type other struct {
	*kit
	emu *emulator.Emulator
}

// withOther runs a test of external semaphores on the emulator, which stands for
// any other API; semaphore_vulkan_test.go has those of a GPU.
func withOther(t *testing.T, cfg emulator.Config) other {
	t.Helper()
	emu := emulator.New(cfg)
	return other{newKit(t, gputest.Context(t, gputest.Driver(t, emu))), emu}
}

// semaphore makes one on the other side and imports it.
func (o other) semaphore(kind cu.CUexternalSemaphoreHandleType) (*emulator.Semaphore, *driver.ExternalSemaphore) {
	o.Helper()
	theirs, err := o.emu.NewSemaphore(kind)
	o.ok(err)
	ours, err := o.c.ImportSemaphoreFD(kind, int(theirs.Export()))
	o.ok(err)
	o.closeLater(ours)
	return theirs, ours
}

func (o other) signal(s *driver.ExternalSemaphore, v uint64) *driver.SemaphoreOp {
	o.Helper()
	op, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: s, Value: v})
	o.ok(err)
	return op
}

func (o other) await(s *driver.ExternalSemaphore, v uint64) *driver.SemaphoreOp {
	o.Helper()
	op, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: s, Value: v})
	o.ok(err)
	return op
}

func TestSemaphoreNodesAreAddedReadAndSet(t *testing.T) {
	k := withOther(t, emulator.Config{})
	b := k.memory()
	theirs, ours := k.semaphore(timelineFD)
	_, second := k.semaphore(timelineFD)
	g := k.graph()
	w := k.add(g, k.await(ours, 3))
	n := k.add(g, k.launch(k.plus, b, 1), w)
	s := k.add(g, k.signal(ours, 4), n)
	wait, err := graph.ParamsOf[cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS](w)
	k.ok(err)
	signal, err := graph.ParamsOf[cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS](s)
	k.ok(err)
	if wait.NumExtSems != 1 || *wait.ExtSemArray != ours.Raw() || wait.ParamsArray.Params.Fence.Value != 3 ||
		signal.NumExtSems != 1 || *signal.ExtSemArray != ours.Raw() || signal.ParamsArray.Params.Fence.Value != 4 {
		k.Errorf("parameters %+v and %+v", wait, signal)
	}
	x := k.exec(g)
	k.waits(x, theirs, 3, 4)
	k.expect(b, 2)

	k.ok(x.Set(w, k.await(ours, 6)))
	k.ok(x.Set(s, k.signal(ours, 7)))
	k.waits(x, theirs, 6, 7)
	k.expect(b, 3)

	k.ok(w.Set(k.await(ours, 9)))
	k.ok(s.Set(k.signal(ours, 10)))
	k.waits(k.exec(g), theirs, 9, 10)
	k.expect(b, 4)
	two, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours}, driver.SemaphorePoint{Semaphore: second})
	k.ok(err)
	if err := x.Set(w, two); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "how many") {
		k.Errorf("another number of semaphores in the executable: %v", err)
	}
	k.ok(w.Set(two))
}

// waits launches, sees that the graph waits for the other side, lets it go on and
// sees what it tells the other side.
func (o other) waits(x *graph.Exec, theirs *emulator.Semaphore, value, answer uint64) {
	o.Helper()
	o.ok(x.Launch(o.s))
	time.Sleep(2 * time.Millisecond)
	if done, err := o.s.Query(); done || err != nil {
		o.Fatalf("the graph did not wait: %v, %v", done, err)
	}
	theirs.Signal(value)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	o.ok(theirs.Wait(ctx, answer))
	o.wait(o.s)
	if v := theirs.Value(); v != answer {
		o.Errorf("the semaphore has %d, want %d", v, answer)
	}
}

func TestSemaphoresInStreamsAndCaptures(t *testing.T) {
	k := withOther(t, emulator.Config{})
	b := k.memory()
	theirs, ours := k.semaphore(opaqueFD)
	back, answer := k.semaphore(timelineFD)
	ops := []driver.Op{k.await(ours, 0), k.launch(k.plus, b, 1), k.signal(answer, 5)}
	for _, op := range ops {
		k.ok(k.s.Do(op))
	}
	theirs.Signal(0)
	k.expect(b, 2)
	if theirs.Value() != 0 || back.Value() != 5 {
		k.Errorf("values %d and %d", theirs.Value(), back.Value())
	}
	g := k.capture(func(sc *graph.Scope) error {
		return errors.Join(sc.Do(ops[0]), sc.Do(ops[1]), sc.Do(ops[2]))
	})
	k.types(g, []graph.Type{cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
	x := k.exec(g)
	theirs.Signal(0)
	k.run(x)
	k.expect(b, 3)
	h := k.graph()
	_, err := h.AddBatch(nil, graph.Chain(ops))
	k.ok(err)
	_, err = graph.AddTagged(h, ops[2])
	k.ok(err)
	_, err = graph.AddTagged(h, ops[0])
	k.ok(err)
	k.addPlan(h, k.chainPlan(ops[1], ops[2]))
	theirs.Signal(0)
	x = k.exec(h)
	k.ok(x.Launch(k.s))
	for theirs.Value() != 0 {
		time.Sleep(time.Millisecond)
	}
	theirs.Signal(0) // the second wait's
	k.wait(k.s)
}

func TestTheValueOfASemaphorePointIsChanged(t *testing.T) {
	k := withOther(t, emulator.Config{})
	theirs, ours := k.semaphore(timelineFD)
	signal, wait := k.signal(ours, 1), k.await(ours, 1)
	g := k.graph()
	s := k.add(g, signal)
	w := k.add(g, wait, s)
	x := k.exec(g)
	for v := uint64(5); v < 8; v++ {
		k.ok(signal.SetValue(0, v))
		k.ok(wait.SetValue(0, v))
		k.ok(x.Set(s, signal))
		k.ok(x.Set(w, wait))
		k.run(x)
		if theirs.Value() != v {
			k.Errorf("%d, want %d", theirs.Value(), v)
		}
	}
	if err := signal.SetValue(1, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("a point there is not: %v", err)
	}
	if err := wait.SetValue(-1, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("a point there is not: %v", err)
	}
}

func TestAGraphKeepsItsSemaphores(t *testing.T) {
	k := withOther(t, emulator.Config{})
	theirs, err := k.emu.NewSemaphore(timelineFD)
	k.ok(err)
	ours, err := k.c.ImportSemaphoreFD(timelineFD, int(theirs.Export()))
	k.ok(err)
	signal := k.signal(ours, 2)
	g := k.graph()
	k.add(g, signal)
	k.ok(ours.Close())
	k.run(k.exec(g))
	if theirs.Value() != 2 {
		k.Errorf("%d", theirs.Value())
	}
	for name, err := range map[string]error{
		"Do":  k.s.Do(signal),
		"Add": second(g.Add(signal)),
		"new": second(driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours})),
	} {
		if !errors.Is(err, driver.ErrClosed) {
			k.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherHandlesOfSemaphores(t *testing.T) {
	k := withOther(t, emulator.Config{})
	for _, kind := range []cu.CUexternalSemaphoreHandleType{
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE,
	} {
		theirs, err := k.emu.NewSemaphore(kind)
		k.ok(err)
		h := theirs.Export()
		for range 2 { // NT handles may be imported again
			ours, err := k.c.ImportSemaphoreHandle(kind, h)
			k.ok(err)
			if ours.Kind() != kind || ours.Context() != k.c || ours.Raw() == 0 {
				k.Errorf("%v", ours)
			}
			k.ok(k.s.Do(k.signal(ours, 1)))
			k.wait(k.s)
			k.ok(ours.Close())
		}
		if theirs.Value() != 1 {
			k.Errorf("%v: %d", kind, theirs.Value())
		}
	}
	if _, err := k.emu.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC); err == nil {
		k.Error("an NvSciSyncObj was emulated")
	}
}

// A descriptor is used up by the import.
func TestADescriptorIsImportedOnce(t *testing.T) {
	k := withOther(t, emulator.Config{})
	theirs, err := k.emu.NewSemaphore(timelineFD)
	k.ok(err)
	fd := int(theirs.Export())
	if _, err := k.c.ImportSemaphoreFD(opaqueFD, fd); err == nil {
		k.Error("imported as another type")
	}
	ours, err := k.c.ImportSemaphoreFD(timelineFD, fd)
	k.ok(err)
	k.closeLater(ours)
	if _, err := k.c.ImportSemaphoreFD(timelineFD, fd); err == nil {
		k.Error("imported twice")
	}
}

func TestImportOfWhatIsNoSemaphoreFailsClearly(t *testing.T) {
	each(t, func(k *kit) {
		if runtime.GOARCH == "wasm" {
			k.Skip("there are no pipes in WebAssembly")
		}
		r, w, err := os.Pipe()
		k.ok(err)
		defer r.Close()
		defer w.Close()
		for _, kind := range []cu.CUexternalSemaphoreHandleType{timelineFD, opaqueFD} {
			for name, fd := range map[string]int{"descriptor that is not open": 1 << 20, "pipe": int(r.Fd())} {
				_, err := k.c.ImportSemaphoreFD(kind, fd)
				var e *driver.Error
				if !errors.As(err, &e) || e.Func != cu.FnCuImportExternalSemaphore {
					k.Fatalf("%s: %v", name, err)
				}
				k.Logf("%s as %v: %v", name, kind, e)
				for _, word := range []string{"cannot make an external semaphore", "file descriptor", kind.String(), "another API"} {
					if !strings.Contains(err.Error(), word) {
						k.Errorf("%s: the error does not say %q: %v", name, word, err)
					}
				}
			}
		}
		if _, err := w.Write([]byte{1}); err != nil { // still ours
			k.Errorf("the pipe: %v", err)
		}
		k.usable(k.s)
	})
}

func TestHandlesThatNoSemaphoreCanHaveAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		fence := cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE
		for name, err := range map[string]error{
			"negative descriptor": second(k.c.ImportSemaphoreFD(timelineFD, -1)),
			"huge descriptor":     second(k.c.ImportSemaphoreFD(timelineFD, 1<<40)),
			"descriptor of fence": second(k.c.ImportSemaphoreFD(fence, 3)),
			"zero handle":         second(k.c.ImportSemaphoreHandle(fence, 0)),
			"handle of fd type":   second(k.c.ImportSemaphoreHandle(opaqueFD, 3)),
			"empty name":          second(k.c.ImportSemaphoreName(fence, "")),
			"name of fd type":     second(k.c.ImportSemaphoreName(opaqueFD, "x")),
			"nil NvSciSyncObj":    second(k.c.ImportSemaphoreNvSci(nil)),
			"signal of nothing":   second(driver.NewSemaphoreSignal()),
			"wait for nothing":    second(driver.NewSemaphoreWait()),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s: %v", name, err)
			}
		}
		var none *driver.ExternalSemaphore
		k.ok(none.Close())
		if _, err := driver.NewSemaphoreWait(driver.SemaphorePoint{}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("nil semaphore: %v", err)
		}
		g := k.graph()
		for _, op := range []driver.Op{(*driver.SemaphoreOp)(nil)} {
			if _, err := g.Add(op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v added: %v", op, err)
			}
			if err := k.s.Do(op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v done: %v", op, err)
			}
		}
	})
}

func TestSemaphoresOfSeveralContextsAreRefused(t *testing.T) {
	k := withOther(t, emulator.Config{})
	_, here := k.semaphore(timelineFD)
	there := other{k.beside(), k.emu}
	_, far := there.semaphore(timelineFD)
	if _, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: here}, driver.SemaphorePoint{Semaphore: far}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("got %v", err)
	}
	if err := k.s.Do(k.signal(far, 1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("in a stream of another context: %v", err)
	}
	g := k.graph()
	k.add(g, k.signal(far, 1)) // but in a graph
	k.run(k.exec(g))
}

// vulkanSemaphore makes a timeline semaphore in Vulkan and imports it.
func vulkanSemaphore(k *kit) (*vulkantest.Semaphore, *driver.ExternalSemaphore) {
	k.Helper()
	d, err := vulkantest.Open()
	if err != nil {
		k.Skip("no semaphores of another API: ", err)
	}
	k.closeLater(d)
	theirs, err := d.NewSemaphore()
	k.ok(err)
	k.closeLater(theirs)
	fd, err := theirs.FD()
	k.ok(err)
	ours, err := k.c.ImportSemaphoreFD(timelineFD, fd)
	k.ok(err)
	k.closeLater(ours)
	return theirs, ours
}

// A graph on a real device waits for what another API signals and signals it
// back: nodes by hand, set on the exec and on the graph, and captured.
func TestSemaphoreNodesMeetVulkan(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		theirs, ours := vulkanSemaphore(k)
		b := k.memory()
		signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours, Value: 4})
		k.ok(err)
		wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours, Value: 3})
		k.ok(err)
		l := k.launch(k.plus, b, 1)
		g := k.graph()
		w := k.add(g, wait)
		s := k.add(g, signal, k.add(g, l, w))
		x := k.exec(g)
		vulkanAnswers(k, x, theirs, 3, 4)
		k.expect(b, 2)

		k.ok(errors.Join(wait.SetValue(0, 6), signal.SetValue(0, 7)))
		k.ok(errors.Join(x.Set(w, wait), x.Set(s, signal)))
		vulkanAnswers(k, x, theirs, 6, 7)
		k.expect(b, 3)

		k.ok(errors.Join(wait.SetValue(0, 9), signal.SetValue(0, 10)))
		k.ok(errors.Join(w.Set(wait), s.Set(signal)))
		vulkanAnswers(k, k.exec(g), theirs, 9, 10)
		k.expect(b, 4)

		k.ok(errors.Join(wait.SetValue(0, 12), signal.SetValue(0, 13)))
		captured := k.capture(func(sc *graph.Scope) error { return sc.Do(wait, l, signal) })
		k.types(captured, []graph.Type{cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
		vulkanAnswers(k, k.exec(captured), theirs, 12, 13)
		k.expect(b, 5)
	})
}

// vulkanAnswers launches, sees that the graph waits, lets it go on from Vulkan's
// side and sees its answer there.
func vulkanAnswers(k *kit, x *graph.Exec, theirs *vulkantest.Semaphore, value, answer uint64) {
	k.Helper()
	k.ok(x.Launch(k.s))
	time.Sleep(5 * time.Millisecond)
	if done, err := k.s.Query(); done || err != nil {
		k.Fatalf("the graph did not wait: %v, %v", done, err)
	}
	k.ok(theirs.Signal(value))
	k.wait(k.s)
	if v, err := theirs.Value(); err != nil || v != answer {
		k.Errorf("the semaphore has %d (%v), want %d", v, err, answer)
	}
}
