package drivertest_test

import (
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
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/verify/vulkantest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestSemaphoreNodesAreAddedReadAndSet(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	b := k.Memory()
	theirs, ours := k.Semaphore(graphtest.TimelineFD)
	_, second := k.Semaphore(graphtest.TimelineFD)
	g := k.Graph()
	w := k.Add(g, k.Await(ours, 3))
	n := k.Add(g, k.Launch(k.Plus, b, 1), w)
	s := k.Add(g, k.Signal(ours, 4), n)
	wait, err := graph.ParamsOf[cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS](w)
	k.OK(err)
	signal, err := graph.ParamsOf[cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS](s)
	k.OK(err)
	if wait.NumExtSems != 1 || *wait.ExtSemArray != ours.Raw() || wait.ParamsArray.Params.Fence.Value != 3 ||
		signal.NumExtSems != 1 || *signal.ExtSemArray != ours.Raw() || signal.ParamsArray.Params.Fence.Value != 4 {
		k.Errorf("parameters %+v and %+v", wait, signal)
	}
	x := k.Exec(g)
	k.Waits(x, theirs, 3, 4)
	k.Expect(b, 2)

	k.OK(x.Set(w, k.Await(ours, 6)))
	k.OK(x.Set(s, k.Signal(ours, 7)))
	k.Waits(x, theirs, 6, 7)
	k.Expect(b, 3)

	k.OK(w.Set(k.Await(ours, 9)))
	k.OK(s.Set(k.Signal(ours, 10)))
	k.Waits(k.Exec(g), theirs, 9, 10)
	k.Expect(b, 4)
	two, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours}, driver.SemaphorePoint{Semaphore: second})
	k.OK(err)
	if err := x.Set(w, two); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "how many") {
		k.Errorf("another number of semaphores in the executable: %v", err)
	}
	k.OK(w.Set(two))
}

func TestTheValueOfASemaphorePointIsChanged(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	theirs, ours := k.Semaphore(graphtest.TimelineFD)
	signal, wait := k.Signal(ours, 1), k.Await(ours, 1)
	g := k.Graph()
	s := k.Add(g, signal)
	w := k.Add(g, wait, s)
	x := k.Exec(g)
	for v := uint64(5); v < 8; v++ {
		k.OK(signal.SetValue(0, v))
		k.OK(wait.SetValue(0, v))
		k.OK(x.Set(s, signal))
		k.OK(x.Set(w, wait))
		k.Run(x)
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
	k := graphtest.WithOther(t, emulator.Config{})
	theirs, err := k.Emu.NewSemaphore(graphtest.TimelineFD)
	k.OK(err)
	ours, err := k.C.ImportSemaphoreFD(graphtest.TimelineFD, int(theirs.Export()))
	k.OK(err)
	signal := k.Signal(ours, 2)
	g := k.Graph()
	k.Add(g, signal)
	k.OK(ours.Close())
	k.Run(k.Exec(g))
	if theirs.Value() != 2 {
		k.Errorf("%d", theirs.Value())
	}
	for name, err := range map[string]error{
		"Do":  k.S.Do(signal),
		"Add": graphtest.Second(g.Add(signal)),
		"new": graphtest.Second(driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours})),
	} {
		if !errors.Is(err, driver.ErrClosed) {
			k.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherHandlesOfSemaphores(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	for _, kind := range []cu.CUexternalSemaphoreHandleType{
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE,
	} {
		theirs, err := k.Emu.NewSemaphore(kind)
		k.OK(err)
		h := theirs.Export()
		for range 2 { // NT handles may be imported more than once
			ours, err := k.C.ImportSemaphoreHandle(kind, h)
			k.OK(err)
			if ours.Kind() != kind || ours.Context() != k.C || ours.Raw() == 0 {
				k.Errorf("%v", ours)
			}
			k.OK(k.S.Do(k.Signal(ours, 1)))
			k.Wait(k.S)
			k.OK(ours.Close())
		}
		if theirs.Value() != 1 {
			k.Errorf("%v: %d", kind, theirs.Value())
		}
	}
	if _, err := k.Emu.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC); err == nil {
		k.Error("an NvSciSyncObj was emulated")
	}
}

// A successful import takes ownership of the descriptor, so a second import must fail.
func TestADescriptorIsImportedOnce(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	theirs, err := k.Emu.NewSemaphore(graphtest.TimelineFD)
	k.OK(err)
	fd := int(theirs.Export())
	if _, err := k.C.ImportSemaphoreFD(graphtest.OpaqueFD, fd); err == nil {
		k.Error("imported as another type")
	}
	ours, err := k.C.ImportSemaphoreFD(graphtest.TimelineFD, fd)
	k.OK(err)
	k.CloseLater(ours)
	if _, err := k.C.ImportSemaphoreFD(graphtest.TimelineFD, fd); err == nil {
		k.Error("imported twice")
	}
}

func TestImportOfWhatIsNoSemaphoreFailsClearly(t *testing.T) {
	each(t, func(k *kit) {
		if runtime.GOARCH == "wasm" {
			k.Skip("there are no pipes in WebAssembly")
		}
		r, w, err := os.Pipe()
		k.OK(err)
		defer r.Close()
		defer w.Close()
		for _, kind := range []cu.CUexternalSemaphoreHandleType{graphtest.TimelineFD, graphtest.OpaqueFD} {
			for name, fd := range map[string]int{"descriptor that is not open": 1 << 20, "pipe": int(r.Fd())} {
				_, err := k.C.ImportSemaphoreFD(kind, fd)
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
		if _, err := w.Write([]byte{1}); err != nil { // the program still owns the descriptor
			k.Errorf("the pipe: %v", err)
		}
		k.Usable(k.S)
	})
}

func TestHandlesThatNoSemaphoreCanHaveAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		fence := cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE
		for name, err := range map[string]error{
			"negative descriptor": graphtest.Second(k.C.ImportSemaphoreFD(graphtest.TimelineFD, -1)),
			"huge descriptor":     graphtest.Second(k.C.ImportSemaphoreFD(graphtest.TimelineFD, 1<<40)),
			"descriptor of fence": graphtest.Second(k.C.ImportSemaphoreFD(fence, 3)),
			"zero handle":         graphtest.Second(k.C.ImportSemaphoreHandle(fence, 0)),
			"handle of fd type":   graphtest.Second(k.C.ImportSemaphoreHandle(graphtest.OpaqueFD, 3)),
			"empty name":          graphtest.Second(k.C.ImportSemaphoreName(fence, "")),
			"name of fd type":     graphtest.Second(k.C.ImportSemaphoreName(graphtest.OpaqueFD, "x")),
			"nil NvSciSyncObj":    graphtest.Second(k.C.ImportSemaphoreNvSci(nil)),
			"signal of nothing":   graphtest.Second(driver.NewSemaphoreSignal()),
			"wait for nothing":    graphtest.Second(driver.NewSemaphoreWait()),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s: %v", name, err)
			}
		}
		var none *driver.ExternalSemaphore
		k.OK(none.Close())
		if _, err := driver.NewSemaphoreWait(driver.SemaphorePoint{}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("nil semaphore: %v", err)
		}
		g := k.Graph()
		for _, op := range []driver.Op{(*driver.SemaphoreOp)(nil)} {
			if _, err := g.Add(op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v added: %v", op, err)
			}
			if err := k.S.Do(op); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%v done: %v", op, err)
			}
		}
	})
}

func TestSemaphoresOfSeveralContextsAreRefused(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	_, here := k.Semaphore(graphtest.TimelineFD)
	there := graphtest.Other{Kit: k.Beside(), Emu: k.Emu}
	_, far := there.Semaphore(graphtest.TimelineFD)
	if _, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: here}, driver.SemaphorePoint{Semaphore: far}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("got %v", err)
	}
	if err := k.S.Do(k.Signal(far, 1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("in a stream of another context: %v", err)
	}
	g := k.Graph()
	k.Add(g, k.Signal(far, 1)) // unlike a stream, a graph accepts the operation
	k.Run(k.Exec(g))
}

func vulkanSemaphore(k *kit) (*vulkantest.Semaphore, *driver.ExternalSemaphore) {
	k.Helper()
	d, err := vulkantest.Open()
	if err != nil {
		k.Skip("no semaphores of another API: ", err)
	}
	k.CloseLater(d)
	theirs, err := d.NewSemaphore()
	k.OK(err)
	k.CloseLater(theirs)
	fd, err := theirs.FD()
	k.OK(err)
	ours, err := k.C.ImportSemaphoreFD(graphtest.TimelineFD, fd)
	k.OK(err)
	k.CloseLater(ours)
	return theirs, ours
}

// A graph on a real device must wait for a signal of another API and signal back. The nodes are
// added directly, set on the exec and on the graph, and captured.
func TestSemaphoreNodesMeetVulkan(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		theirs, ours := vulkanSemaphore(k)
		b := k.Memory()
		signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours, Value: 4})
		k.OK(err)
		wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours, Value: 3})
		k.OK(err)
		l := k.Launch(k.Plus, b, 1)
		g := k.Graph()
		w := k.Add(g, wait)
		s := k.Add(g, signal, k.Add(g, l, w))
		x := k.Exec(g)
		vulkanAnswers(k, x, theirs, 3, 4)
		k.Expect(b, 2)

		k.OK(errors.Join(wait.SetValue(0, 6), signal.SetValue(0, 7)))
		k.OK(errors.Join(x.Set(w, wait), x.Set(s, signal)))
		vulkanAnswers(k, x, theirs, 6, 7)
		k.Expect(b, 3)

		k.OK(errors.Join(wait.SetValue(0, 9), signal.SetValue(0, 10)))
		k.OK(errors.Join(w.Set(wait), s.Set(signal)))
		vulkanAnswers(k, k.Exec(g), theirs, 9, 10)
		k.Expect(b, 4)

		k.OK(errors.Join(wait.SetValue(0, 12), signal.SetValue(0, 13)))
		captured := k.Capture(func(sc *graph.Scope) error { return sc.Do(wait, l, signal) })
		k.Types(captured, []graph.Type{cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
		vulkanAnswers(k, k.Exec(captured), theirs, 12, 13)
		k.Expect(b, 5)
	})
}

// vulkanAnswers launches a graph and checks that it waits. Then vulkanAnswers signals from Vulkan
// and waits there for the graph's signal.
func vulkanAnswers(k *kit, x *graph.Exec, theirs *vulkantest.Semaphore, value, answer uint64) {
	k.Helper()
	k.OK(x.Launch(k.S))
	time.Sleep(5 * time.Millisecond)
	if done, err := k.S.Query(); done || err != nil {
		k.Fatalf("the graph did not wait: %v, %v", done, err)
	}
	k.OK(theirs.Signal(value))
	k.Wait(k.S)
	if v, err := theirs.Value(); err != nil || v != answer {
		k.Errorf("the semaphore has %d (%v), want %d", v, err, answer)
	}
}
