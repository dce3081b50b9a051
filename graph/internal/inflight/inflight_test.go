package inflight_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// An exec that is closed while it runs is destroyed once its launch has ended. Detecting the end
// must not use the launch's stream, because the stream may be capturing by then. A wait or query
// would invalidate that capture.
func TestCloseDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 1)
		g := k.Graph()
		k.Add(g, l)
		x, err := g.Instantiate()
		k.OK(err)
		k.OK(x.Launch(k.S))
		captured := k.Capture(func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), x.Close(), sc.Do(l))
		})
		inflight.Waiting.Wait()
		k.Run(k.Exec(captured))
		k.Expect(b, 4)
	})
}

// Objects that were replaced must be released once the launches that use them have ended, without
// disturbing a capture of the stream.
func TestReplacingDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		a := k.Memory()
		n := k.Add(g, k.Launch(k.Plus, a, 1))
		x := k.Exec(g)
		k.OK(x.Launch(k.S))
		var others []*driver.Buffer[uint32]
		for range 200 { // enough to make the library record an event
			others = append(others, k.MemoryOf(1))
		}
		captured := k.Capture(func(sc *graph.Scope) error {
			for _, b := range others {
				if err := errors.Join(x.Set(n, k.Launch(k.Plus, b, 1)), b.Close()); err != nil {
					return err
				}
			}
			return sc.Do(k.Launch(k.Plus, a, 1))
		})
		k.Run(k.Exec(captured))
		k.Expect(a, 3)
	})
}

// If a program waits with its own events and calls NoteEnded, the Exec must release the objects of
// the ended launches. A count above the number of launches means all launches.
func TestNoteEndedReleasesWhatLaunchesUsed(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		a, b := k.MemoryOf(1), k.MemoryOf(1)
		n := k.Add(g, k.Launch(k.Plus, a, 1))
		x := k.Exec(g)
		replace := func(m, by *driver.Buffer[uint32]) {
			k.Helper()
			k.OK(x.Launch(k.S))
			k.Wait(k.S) // the Exec does not notice this wait
			l := k.Launch(k.Plus, by, 1)
			k.OK(errors.Join(x.Set(n, l), n.Set(l), m.Close()))
			x.NoteEnded(x.Replays() - 1)
			if m.Ref().Lifetime().Ended() {
				t.Error("memory was released though its launch may still run")
			}
			x.NoteEnded(x.Replays() + 1)
			if !m.Ref().Lifetime().Ended() {
				t.Error("memory is kept though its launch has ended")
			}
		}
		replace(a, b)
		replace(b, k.Memory())
		(*graph.Exec)(nil).NoteEnded(1)
	})
}

// The stream of a launch in flight may be captured before or after the exec is closed. In both
// cases, waiting for the launch must not disturb the capture.
func TestClosingAnExecThatRunsLeavesCapturesOfItsStreamAlone(t *testing.T) {
	each(t, func(k *kit) {
		for _, before := range []bool{true, false} {
			b := k.MemoryOf(1)
			l := k.Launch(k.Plus, b, 2)
			g, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(l) })
			k.OK(err)
			x, err := g.Instantiate()
			k.OK(err)
			release := k.Blocked()
			k.OK(x.Launch(k.S))
			if before {
				k.OK(x.Close())
			}
			other, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
				var errs []error
				if !before {
					errs = append(errs, x.Close())
				}
				for range 1000 {
					errs = append(errs, sc.Do(l))
				}
				status, _, err := sc.Status()
				if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
					t.Errorf("closed before: %v: capture status %v", before, status)
				}
				return errors.Join(append(errs, err)...)
			})
			release()
			k.OK(err)
			k.Expect(b, 3)
			inflight.Waiting.Wait()
			k.OK(errors.Join(other.Close(), g.Close(), b.Close()))
		}
	})
}

// The stream of a launch in flight may be closed before or after the exec. The library must wait
// only for the launch, because querying the context would invalidate captures of other streams. The
// objects of the launch must be retained until it ends.
func TestClosingAnExecAndItsStreamLeavesOtherCapturesAlone(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed} {
			for _, streamFirst := range []bool{true, false} {
				k.Log(mode, "stream first:", streamFirst)
				k.closesWhileCapturing(mode, streamFirst)
			}
		}
	})
}

func (k *kit) closesWhileCapturing(mode graph.Mode, streamFirst bool) {
	b, result := k.MemoryOf(1), k.MemoryOf(1)
	ptr := b.Ptr()
	s, err := k.C.NewStream()
	k.OK(err)
	g, err := graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Plus, b, 2)) })
	k.OK(err)
	x, err := g.Instantiate()
	k.OK(err)
	release := k.BlockedOn(s)
	defer release()
	k.OK(x.Launch(s))
	closers := []io.Closer{x, s}
	if streamFirst {
		closers = []io.Closer{s, x}
	}
	l := k.Launch(k.Plus, result, 2)
	captured, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
		done := make(chan error)
		go func() { // runs on another thread, as in a service
			err := errors.Join(closers[0].Close(), closers[1].Close(), g.Close(), b.Close())
			time.Sleep(20 * time.Millisecond)
			done <- err
		}()
		err := errors.Join(<-done, sc.Do(l))
		status, _, statusErr := sc.Status()
		if status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE {
			k.Errorf("capture status %v", status)
		}
		return errors.Join(err, statusErr)
	})
	k.OK(err)
	if !k.allocated(ptr) || s.Lifetime().Holders() == 0 {
		k.Error("memory or stream of a launch in flight is not retained")
	}
	release()
	inflight.Waiting.Wait()
	if k.allocated(ptr) || s.Lifetime().Holders() != 0 {
		k.Error("memory or stream is retained after the launch")
	}
	k.Run(k.Exec(captured))
	k.Expect(result, 3)
	k.OK(errors.Join(captured.Close(), result.Close()))
}

// If the stream of a launch or of staged work is closed, the exec's next work must still run in
// order on another stream, even during a capture.
func TestAnExecOutlivesItsStreams(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		first, second, third := k.newStream(), k.newStream(), k.Stream()
		release := k.BlockedOn(first)
		defer release()
		k.OK(x.Launch(first)) // adds 0 twice
		k.OK(first.Close())
		k.OK(x.Stage(second, in[3])) // runs after the launch
		k.OK(second.Close())
		captured := k.Capture(func(sc *graph.Scope) error {
			return errors.Join(sc.Do(k.Launch(k.Plus, out, 1)), onOtherThread(func() error { return x.Launch(third) }))
		})
		release()
		k.OK(x.Wait(background))
		if first.Lifetime().Holders() != 0 || second.Lifetime().Holders() != 0 {
			t.Error("streams are retained that nothing needs")
		}
		k.Run(k.Exec(captured))
		k.Expect(out, 8)
	})
}

// While a stream is being captured, the library must reject new work that has to run after earlier
// work on that stream. Recording an event in that stream would draw the new work's stream into the
// capture. The earlier work must still be ordered before the next launch.
func TestOrderAfterAStreamThatIsBeingCaptured(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		other := k.Stream()
		k.OK(x.Stage(k.S, in[3]))
		captured := k.Capture(func(sc *graph.Scope) error {
			k.refusedAfterCapture(x.Launch(other))
			k.refusedAfterCapture(x.Stage(other, in[4]))
			return sc.Do(k.Launch(k.Plus, out, 1))
		})
		k.OK(x.Launch(other))
		k.OK(x.Wait(background))
		k.Expect(out, 7)
		k.OK(x.Launch(k.S)) // reads the same input again
		k.Capture(func(sc *graph.Scope) error {
			k.refusedAfterCapture(x.Stage(other, in[4]))
			return sc.Do(k.Launch(k.Plus, out, 1))
		})
		k.Wait(k.S)
		k.Run(k.Exec(captured))
		k.Expect(out, 14)
	})
}

func (k *kit) refusedAfterCapture(err error) {
	k.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) || !strings.Contains(err.Error(), "end that capture first") {
		k.Errorf("got %v", err)
	}
}

// Staged work must stay ordered before the next launch, even if other calls fail in between.
func TestStagedStaysStagedThroughFailures(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		first, second, closed := k.Stream(), k.Stream(), k.newStream()
		k.OK(closed.Close())
		broken := k.MemoryOf(0)
		bad, err := driver.Fill[uint32](broken, 1)
		k.OK(err)
		k.OK(broken.Close())
		release := k.BlockedOn(first)
		defer release()
		k.OK(x.Stage(first, in[2]))
		if err := x.Stage(first, bad); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("staged closed memory: %v", err)
		}
		if err := x.Launch(closed); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("launched on a closed stream: %v", err)
		}
		k.OK(x.Launch(second))
		time.AfterFunc(10*time.Millisecond, release)
		k.Wait(second)
		k.Expect(out, 5)
	})
}

// Launches of an Exec must not overlap even if Update has instantiated it anew. CUDA itself does
// not order launches of the old and the new executable graph.
func TestLaunchesBeforeAndAfterApplyDoNotOverlap(t *testing.T) {
	each(t, func(k *kit) {
		out, other := k.Memory(), k.Stream()
		g, longer := k.Graph(), k.Graph()
		k.Add(g, k.Launch(k.Plus, out, 1))
		k.Add(longer, k.SumOf(out, out, out), k.Add(longer, k.SumOf(out, out, out)))
		x := k.Exec(g)
		for range 3 {
			release := k.Blocked()
			k.OK(x.Launch(k.S))
			applied, err := x.Update(longer, graph.WithReinstantiate())
			k.OK(err)
			if !applied.Reinstantiated {
				t.Fatal("the graph was updated in place")
			}
			k.OK(x.Launch(other))
			time.AfterFunc(10*time.Millisecond, release)
			k.Wait(other)
			applied, err = x.Update(g, graph.WithReinstantiate())
			k.OK(err)
			if !applied.Reinstantiated {
				t.Fatal("the graph was updated in place")
			}
		}
		k.Expect(out, (((1+1)*4+1)*4+1)*4)
	})
}

func TestWaitForALaunchWhoseStreamIsClosed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		k.Add(g, k.Launch(k.Plus, b, 2))
		x := k.Exec(g)
		s := k.newStream()
		release := k.BlockedOn(s)
		defer release()
		k.OK(x.Launch(s))
		k.OK(s.Close())
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the launch is in flight: %v", err)
		}
		release()
		k.OK(x.Wait(background))
		k.OK(x.Wait(background))
		if s.Lifetime().Holders() != 0 {
			t.Error("the stream is retained after the wait")
		}
		k.Expect(b, 3)
	})
}

// The per-thread stream is a different stream on each thread, so another thread cannot query the
// launch.
func TestClosingAnExecOfThePerThreadStream(t *testing.T) {
	each(t, func(k *kit) {
		b, result := k.MemoryOf(1), k.Memory()
		ptr := b.Ptr()
		g, err := graph.New(k.C)
		k.OK(err)
		k.Add(g, k.Launch(k.Plus, b, 2))
		x, err := g.Instantiate()
		k.OK(err)
		gate := make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		h, err := driver.NewHostFunc(k.C, func() { <-gate })
		k.OK(err)
		k.OK(onOtherThread(func() error {
			return errors.Join(k.C.PerThreadStream().Do(h), x.Launch(k.C.PerThreadStream()))
		}))
		captured := k.Capture(func(sc *graph.Scope) error {
			err := onOtherThread(func() error { return errors.Join(x.Close(), g.Close(), b.Close()) })
			time.Sleep(20 * time.Millisecond)
			return errors.Join(err, sc.Do(k.Launch(k.Plus, result, 2)))
		})
		if !k.allocated(ptr) {
			t.Error("memory of a launch in flight is not retained")
		}
		release()
		inflight.Waiting.Wait()
		if k.allocated(ptr) {
			t.Error("memory is retained after the launch")
		}
		k.Run(k.Exec(captured))
		k.Expect(result, 3)
	})
}

// If an exec is closed while a launch is in flight, no call waits for the launch, so the context
// must report the launch's errors.
func TestContextReportsWhatFailsAfterAnExecIsClosed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	other, err := k.C.Device().PrimaryContext() // errors in the kit's own context would fail the test
	k.OK(err)
	s, err := other.NewStream()
	k.OK(err)
	g := k.Graph()
	b := k.MemoryOf(1)
	k.Add(g, k.Launch(k.Plus, b, 2))
	x, err := g.Instantiate()
	k.OK(err)
	release := k.BlockedOn(s)
	defer release()
	k.OK(x.Launch(s))
	lib.FailCall("cuEventDestroy_v2", 1, uint32(graphtest.Injected))
	k.OK(x.Close())
	release()
	inflight.Waiting.Wait()
	lib.Stop()
	if err := errors.Join(other.CleanupErrors()...); !errors.Is(err, graphtest.Injected) {
		t.Errorf("the context says %v", err)
	}
	k.Expect(b, 3)
	k.OK(errors.Join(s.Close(), other.Close(), b.Close()))
}

// After a failed launch, the previous launch must stay tracked, even if a new event was created for
// the failed launch on the per-thread stream of another context.
func TestAFailedLaunchElsewhereLeavesTheOneBefore(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	there := k.Beside()
	b := k.Memory()
	g := k.Graph()
	k.Add(g, k.Launch(k.Plus, b, 2))
	x := k.Exec(g)
	gate := make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	defer release()
	h, err := driver.NewHostFunc(k.C, func() { <-gate })
	k.OK(err)
	k.OK(onOtherThread(func() error {
		s := k.C.PerThreadStream()
		return errors.Join(s.Do(h), x.Launch(s))
	}))
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	if err := x.Launch(there.C.PerThreadStream()); !errors.Is(err, graphtest.Injected) {
		t.Errorf("the launch elsewhere: %v", err)
	}
	lib.Stop()
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first launch is in flight: %v", err)
	}
	release()
	k.OK(x.Wait(background))
	k.Expect(b, 3)
	k.OK(x.Launch(there.C.PerThreadStream()))
	k.OK(x.Wait(background))
	k.Expect(b, 5)
}

func (k *kit) allocated(p driver.CUdeviceptr) bool {
	var base driver.CUdeviceptr
	var size uintptr
	return k.C.Guarded().CuMemGetAddressRange(&base, &size, p) == nil
}

func (k *kit) newStream() *driver.Stream {
	k.Helper()
	s, err := k.C.NewStream()
	k.OK(err)
	return s
}

// onOtherThread runs f on a new thread, which exits when f returns.
func onOtherThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread exits with the goroutine
		done <- f()
	}()
	return <-done
}
