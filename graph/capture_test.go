package graph_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCaptureRecordsAndDoesNotRun(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			plus, times := k.Launch(k.Plus, b, 2), k.Launch(k.Times, b, 5)
			g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
				return errors.Join(sc.Do(plus), sc.Do(times))
			})
			k.OK(err)
			k.CloseLater(g)
			k.Expect(b, 1)
			x := k.Exec(g)
			k.Run(x)
			k.Expect(b, 15)
			k.Run(x)
			k.Expect(b, 85)
			if n := x.Replays(); n != 2 {
				k.Errorf("%v: %d replays counted, want 2", mode, n)
			}
		}
	})
}

func TestCaptureRecordsWorkPastTheScope(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			return k.Plus.Launch(sc.Stream(), config, b, uint32(elems), uint32(6))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 7)
	})
}

func TestCaptureStatusInsideAndAfter(t *testing.T) {
	each(t, func(k *kit) {
		var inside cu.CUstreamCaptureStatus
		var id uint64
		k.Capture(func(sc *graph.Scope) error {
			var err error
			inside, id, err = sc.Status()
			return err
		})
		if inside != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || id == 0 {
			k.Errorf("inside: status %v, id %d", inside, id)
		}
		for _, sc := range []*graph.Scope{nil, {}} {
			if _, _, err := sc.Status(); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "Scope: make one with") {
				k.Errorf("of no capture: %v", err)
			}
		}
		k.Usable(k.S)
	})
}

func TestCaptureErrorOfTheFunctionIsReturnedAndTheStreamWorks(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
				k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
				return graphtest.ErrRecord
			})
			if g != nil || err != graphtest.ErrRecord {
				k.Fatalf("%v: got %v, %v; want the function's error as it is", mode, g, err)
			}
			k.Usable(k.S)
			k.Expect(b, 1)
		}
	})
}

func TestCaptureOperationErrorComesFirst(t *testing.T) {
	each(t, func(k *kit) {
		closed := k.MemoryOf(1)
		op := k.Launch(k.Plus, closed, 1)
		k.OK(closed.Close())
		_, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error { return sc.Do(op) })
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "plus") {
			k.Fatalf("got %v, want ErrClosed that names the launch", err)
		}
		k.Usable(k.S)
	})
}

func TestCapturePanicGoesOnAfterTheCleanup(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			value := capturePanic(k, mode, b)
			if value != "boom" {
				k.Fatalf("%v: the panic was lost: %v", mode, value)
			}
			k.Usable(k.S)
			k.Expect(b, 1)
		}
	})
}

func capturePanic(k *kit, mode graph.Mode, b *driver.Buffer[uint32]) (value any) {
	defer func() { value = recover() }()
	g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
		k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
		panic("boom")
	})
	k.Errorf("Capture returned %v, %v", g, err)
	return nil
}

func TestCaptureGoexitCleansUp(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			op := k.Launch(k.Plus, b, 1)
			done := make(chan bool)
			go func() {
				returned := false
				defer func() { done <- returned }()
				_, _ = graph.Capture(k.S, mode, func(sc *graph.Scope) error {
					if err := sc.Do(op); err != nil {
						k.Error(err)
					}
					runtime.Goexit()
					return nil
				})
				returned = true
			}()
			if <-done {
				k.Errorf("%v: Capture returned after Goexit", mode)
			}
			k.Usable(k.S)
			k.Expect(b, 1)
		}
	})
}

// A call that captures forbid fails and invalidates the capture. Ending the capture must return an
// error that names the call, even if the recording function ignored it.
func TestCaptureInvalidatedNamesTheCall(t *testing.T) {
	each(t, func(k *kit) {
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			_, err := driver.Alloc[byte](k.C, 64)
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("cuMemAlloc in a GLOBAL capture: %v, want 900", err)
			}
			return nil
		})
		if g != nil || !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Fatalf("got %v, %v; want 901", g, err)
		}
		if !strings.Contains(err.Error(), "cuMemAlloc") {
			k.Errorf("the error does not name the call: %v", err)
		}
		k.Usable(k.S)
	})
}

func TestCaptureWithoutAForkJoinedIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		b := k.Memory()
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			if err != nil {
				return err
			}
			return f.Do(k.Launch(k.Plus, b, 1))
		})
		if g != nil || !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
			k.Fatalf("got %v, %v; want 904", g, err)
		}
		if !strings.Contains(err.Error(), other.String()) {
			k.Errorf("the error does not name the stream: %v", err)
		}
		k.Usable(k.S)
		k.Usable(other)
	})
}

func TestCaptureForksAndJoins(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		a, b, d := k.Memory(), k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			if err != nil {
				return err
			}
			return errors.Join(sc.Do(k.Launch(k.Plus, a, 2)), f.Do(k.Launch(k.Times, b, 7)), sc.Join(f), sc.Do(sum))
		})
		k.Usable(other)
		k.Run(k.Exec(g))
		k.Expect(d, 10)
		if n, err := g.Len(); n != 3 || err != nil {
			k.Errorf("%d nodes (%v), want 3: orders are edges", n, err)
		}
	})
}

func TestCaptureOfACapturingStreamNamesThePlaceOfTheFirst(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			_, err := graph.Capture(k.S, graph.ModeGlobal, func(*graph.Scope) error { return nil })
			if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) || strings.Count(err.Error(), "capture_test.go") != 2 {
				k.Errorf("nested capture: %v; want a refusal that names the functions of both", err)
			}
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestCaptureRefusesTheLegacyStream(t *testing.T) {
	each(t, func(k *kit) {
		_, err := graph.Capture(k.C.LegacyStream(), graph.ModeRelaxed, func(*graph.Scope) error { return nil })
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) || !strings.Contains(err.Error(), "NewStream") {
			k.Fatalf("got %v", err)
		}
	})
}

func TestCaptureRefusesNilAndClosedStreams(t *testing.T) {
	each(t, func(k *kit) {
		s, err := k.C.NewStream()
		k.OK(err)
		k.OK(s.Close())
		for s, want := range map[*driver.Stream]error{nil: driver.CUDA_ERROR_INVALID_VALUE, s: driver.ErrClosed} {
			if _, err := graph.Capture(s, graph.ModeGlobal, func(*graph.Scope) error { return nil }); !errors.Is(err, want) {
				k.Errorf("%v: got %v, want %v", s, err, want)
			}
		}
		if _, err := graph.Capture(k.S, graph.ModeGlobal, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("nil function: %v", err)
		}
	})
}

func TestScopeIsRefusedAfterItsCapture(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		var kept *graph.Scope
		k.Capture(func(sc *graph.Scope) error {
			kept = sc
			return nil
		})
		if err := kept.Do(k.Launch(k.Plus, b, 1)); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("Do: %v", err)
		}
		if _, err := kept.Fork(k.Stream()); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("Fork: %v", err)
		}
		if err := kept.Join(); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("Join: %v", err)
		}
		k.Expect(b, 1)
	})
}

func TestRecordingBeginEnd(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		r, err := graph.Begin(k.S, graph.ModeThreadLocal)
		k.OK(err)
		k.OK(r.Scope().Do(k.Launch(k.Plus, b, 3)))
		g, err := r.End()
		k.OK(err)
		k.CloseLater(g)
		k.OK(r.Abort())
		if _, err := r.End(); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("second End: %v", err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 4)
	})
}

func TestRecordingAbort(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		r, err := graph.Begin(k.S, graph.ModeGlobal)
		k.OK(err)
		k.OK(r.Scope().Do(k.Launch(k.Plus, b, 3)))
		k.OK(r.Abort())
		k.Usable(k.S)
		k.Expect(b, 1)
	})
}

// A capture that is not relaxed must end on its own thread. Ending it elsewhere must be rejected,
// and the goroutine that began it must still be able to end it.
func TestRecordingEndedByAnotherGoroutineGoesOn(t *testing.T) {
	each(t, func(k *kit) {
		r, err := graph.Begin(k.S, graph.ModeThreadLocal)
		k.OK(err)
		elsewhere := make(chan error)
		go func() {
			_, err := r.End()
			elsewhere <- err
			elsewhere <- r.Abort()
		}()
		for _, what := range []string{"End", "Abort"} {
			if err := <-elsewhere; !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
				k.Errorf("%s on another thread: %v, want 908", what, err)
			}
		}
		g, err := r.End()
		k.OK(err)
		k.CloseLater(g)
	})
}

func TestRelaxedRecordingEndsAnywhere(t *testing.T) {
	each(t, func(k *kit) {
		r, err := graph.Begin(k.S, graph.ModeRelaxed)
		k.OK(err)
		ended := make(chan *graph.Graph)
		go func() {
			g, err := r.End()
			if err != nil {
				k.Error(err)
			}
			ended <- g
		}()
		k.CloseLater(<-ended)
	})
}

// A failed launch must invalidate the capture, whatever its error code, and the error must name the
// launch.
func TestCaptureInvalidatedByAFailedLaunchNamesIt(t *testing.T) {
	each(t, func(k *kit) {
		d := k.C.Driver()
		_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			err := d.CuLaunchKernel(k.Plus.Raw(), 0, 1, 1, 1, 1, 1, 0, sc.Stream().Raw(), nil, nil)
			if err == nil {
				k.Error("a launch of no blocks succeeded")
			}
			return nil
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuLaunchKernel") {
			k.Errorf("got %v, want 901 that names cuLaunchKernel", err)
		}
		k.Usable(k.S)
	})
}

func TestCaptureKeepsWhatItRecordedAlive(t *testing.T) {
	each(t, func(k *kit) {
		out, add := k.Memory(), k.MemoryOf(9)
		sum, err := k.Sum.Prepare(config, out, out, add, uint32(elems))
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error { return sc.Do(sum) })
		k.OK(add.Close()) // the graph must still retain it
		scribble := k.MemoryOf(1000)
		k.CloseLater(scribble)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(out, 10)
		k.OK(g.Close()) // the exec must still retain it
		k.Run(x)
		k.Expect(out, 19)
	})
}

// If a program drops a Recording, its cleanup must end and report the capture. Its streams must
// then execute work again.
func TestDroppedRecordingIsEndedAndReported(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			other := k.Stream()
			onAGoroutine(func() { dropRecording(k, mode, b, other) })
			leaks := gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
			if len(leaks) != 1 || leaks[0].Kind != "capture" || leaks[0].Err != nil ||
				!strings.Contains(leaks[0].Stack, "dropRecording") {
				k.Errorf("%v: reported %v", mode, leaks)
			}
			k.Usable(k.S)
			k.Usable(other)
			k.Expect(b, 1)
		}
	})
}

func onAGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func dropRecording(k *kit, mode graph.Mode, b *driver.Buffer[uint32], other *driver.Stream) {
	r, err := graph.Begin(k.S, mode)
	if err != nil {
		k.Error(err)
		return
	}
	f, err := r.Scope().Fork(other)
	if err != nil {
		k.Error(err)
		return
	}
	for _, sc := range []*graph.Scope{r.Scope(), f} {
		if err := sc.Do(k.Launch(k.Plus, b, 1)); err != nil {
			k.Error(err)
		}
	}
}

func TestDroppedRecordingOfALivingGoroutine(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		next, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			dropRecording(k, graph.ModeThreadLocal, b, other)
			next <- struct{}{}
			<-next
		}()
		<-next
		gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
		k.Usable(k.S)
		next <- struct{}{}
		<-done
	})
}

func TestDroppedRecordingClosesItsGraph(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			var g *graph.Graph
			onAGoroutine(func() {
				r, err := graph.Begin(k.S, mode)
				if err == nil {
					g, err = r.Scope().Graph()
				}
				if err != nil {
					k.Error(err)
				}
			})
			gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
			if _, err := g.AddEmpty(); err == nil {
				k.Errorf("%v: the graph of a dropped capture takes nodes", mode)
			}
			k.Usable(k.S)
		}
	})
}

// A reachable scope, even a forked one, must keep its capture open.
func TestRecordingIsOpenWhileAScopeIsReachable(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		fork := forkOnly(k, other)
		for range 3 {
			runtime.GC()
		}
		k.OK(fork.Do(k.Launch(k.Plus, b, 1)))
		if !fork.Active() {
			k.Error("the capture ended under its scope")
		}
		fork = nil
		gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
		k.Usable(k.S)
		k.Usable(other)
	})
}

func forkOnly(k *kit, other *driver.Stream) *graph.Scope {
	r, err := graph.Begin(k.S, graph.ModeRelaxed)
	k.OK(err)
	f, err := r.Scope().Fork(other)
	k.OK(err)
	return f
}

func TestDroppedRecordingIntoAGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		onAGoroutine(func() {
			r, err := graphtest.BeginInto(g, k.S, graph.ModeRelaxed, first)
			if err == nil {
				err = r.Scope().Do(k.Launch(k.Times, b, 3))
			}
			if err != nil {
				k.Error(err)
			}
		})
		gputest.ExpectDropped(k, k.C.Device().Driver(), 1)
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want what was there before", n, err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}
