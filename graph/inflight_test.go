package graph_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// An exec that is closed while it runs is given back when it has ended. To find
// that out must not touch the stream of its launch: that may be captured by
// now, and a wait or query would end the capture.
func TestCloseDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		g := k.graph()
		k.add(g, l)
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Launch(k.s))
		captured := k.capture(func(sc *graph.Scope) error {
			return errors.Join(sc.Do(l), x.Close(), sc.Do(l))
		})
		graph.WaitParked()
		k.run(k.exec(captured))
		k.expect(b, 4)
	})
}

// The same of what an update has taken out of use.
func TestRetireDuringCaptureOfTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a := k.memory()
		n := k.add(g, k.launch(k.plus, a, 1))
		x := k.exec(g)
		k.ok(x.Launch(k.s))
		var others []*driver.Buffer[uint32]
		for range 200 { // more than are worth an event
			others = append(others, k.memoryOf(1))
		}
		captured := k.capture(func(sc *graph.Scope) error {
			for _, b := range others {
				if err := errors.Join(x.Set(n, k.launch(k.plus, b, 1)), b.Close()); err != nil {
					return err
				}
			}
			return sc.Do(k.launch(k.plus, a, 1))
		})
		k.run(k.exec(captured))
		k.expect(a, 3)
	})
}

// A program that waits by events of its own says so, and what its launches used is
// released. A number of launches that were not made yet counts as those that were.
func TestNoteEndedReleasesWhatLaunchesUsed(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a, b := k.memoryOf(1), k.memoryOf(1)
		n := k.add(g, k.launch(k.plus, a, 1))
		x := k.exec(g)
		replace := func(m, by *driver.Buffer[uint32]) {
			k.Helper()
			k.ok(x.Launch(k.s))
			k.wait(k.s) // which the Exec does not know
			l := k.launch(k.plus, by, 1)
			k.ok(errors.Join(x.Set(n, l), n.Set(l), m.Close()))
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
		replace(b, k.memory())
		(*graph.Exec)(nil).NoteEnded(1)
	})
}

// The stream of a launch that is under way may be captured when, or after, the
// exec is closed. What waits for the launch must leave the capture alone.
func TestClosingAnExecThatRunsLeavesCapturesOfItsStreamAlone(t *testing.T) {
	each(t, func(k *kit) {
		for _, before := range []bool{true, false} {
			b := k.memoryOf(1)
			l := k.launch(k.plus, b, 2)
			g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(l) })
			k.ok(err)
			x, err := g.Instantiate()
			k.ok(err)
			release := k.blocked()
			k.ok(x.Launch(k.s))
			if before {
				k.ok(x.Close())
			}
			other, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
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
			k.ok(err)
			k.expect(b, 3)
			graph.WaitParked()
			k.ok(errors.Join(other.Close(), g.Close(), b.Close()))
		}
	})
}

// The stream of a launch that is under way may be closed, before the exec or after.
// What waits for the launch waits for it alone: asking the context would break
// captures of other streams. What the launch uses is kept meanwhile.
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
	b, result := k.memoryOf(1), k.memoryOf(1)
	ptr := b.Ptr()
	s, err := k.c.NewStream()
	k.ok(err)
	g, err := graph.Capture(s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(k.launch(k.plus, b, 2)) })
	k.ok(err)
	x, err := g.Instantiate()
	k.ok(err)
	release := k.blockedOn(s)
	defer release()
	k.ok(x.Launch(s))
	closers := []closer{x, s}
	if streamFirst {
		closers = []closer{s, x}
	}
	l := k.launch(k.plus, result, 2)
	captured, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
		done := make(chan error)
		go func() { // on another thread, as in a service
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
	k.ok(err)
	if !k.allocated(ptr) || s.Lifetime().Holders() == 0 {
		k.Error("memory or stream of a launch under way is not held")
	}
	release()
	graph.WaitParked()
	if k.allocated(ptr) || s.Lifetime().Holders() != 0 {
		k.Error("memory or stream is held after the launch")
	}
	k.run(k.exec(captured))
	k.expect(result, 3)
	k.ok(errors.Join(captured.Close(), result.Close()))
}

// An exec that is staged for or launched from a stream that is closed then goes on
// from another, in order, and no capture is in the way.
func TestAnExecOutlivesItsStreams(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		first, second, third := k.newStream(), k.newStream(), k.stream()
		release := k.blockedOn(first)
		defer release()
		k.ok(x.Launch(first)) // adds 0 twice
		k.ok(first.Close())
		k.ok(x.Stage(second, in[3])) // behind that
		k.ok(second.Close())
		captured := k.capture(func(sc *graph.Scope) error {
			return errors.Join(sc.Do(k.launch(k.plus, out, 1)), onOtherThread(func() error { return x.Launch(third) }))
		})
		release()
		k.ok(x.Wait(background))
		if first.Lifetime().Holders() != 0 || second.Lifetime().Holders() != 0 {
			t.Error("streams are held that nothing needs any more")
		}
		k.run(k.exec(captured))
		k.expect(out, 8)
	})
}

// What has to run behind work of a stream that is being captured meanwhile is refused:
// an event of it would draw the other stream into the capture. The work stays ahead.
func TestOrderBehindAStreamThatIsBeingCaptured(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		other := k.stream()
		k.ok(x.Stage(k.s, in[3]))
		captured := k.capture(func(sc *graph.Scope) error {
			k.refusedBehindCapture(x.Launch(other))
			k.refusedBehindCapture(x.Stage(other, in[4]))
			return sc.Do(k.launch(k.plus, out, 1))
		})
		k.ok(x.Launch(other))
		k.ok(x.Wait(background))
		k.expect(out, 7)
		k.ok(x.Launch(k.s)) // of the same input
		k.capture(func(sc *graph.Scope) error {
			k.refusedBehindCapture(x.Stage(other, in[4]))
			return sc.Do(k.launch(k.plus, out, 1))
		})
		k.wait(k.s)
		k.run(k.exec(captured))
		k.expect(out, 14)
	})
}

func (k *kit) refusedBehindCapture(err error) {
	k.Helper()
	if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) || !strings.Contains(err.Error(), "end that capture first") {
		k.Errorf("got %v", err)
	}
}

// What is staged stays ahead of the next launch when something else fails.
func TestStagedStaysStagedThroughFailures(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		first, second, closed := k.stream(), k.stream(), k.newStream()
		k.ok(closed.Close())
		broken := k.memoryOf(0)
		bad, err := driver.Fill[uint32](broken, 1)
		k.ok(err)
		k.ok(broken.Close())
		release := k.blockedOn(first)
		defer release()
		k.ok(x.Stage(first, in[2]))
		if err := x.Stage(first, bad); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("staged closed memory: %v", err)
		}
		if err := x.Launch(closed); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("launched on a closed stream: %v", err)
		}
		k.ok(x.Launch(second))
		time.AfterFunc(10*time.Millisecond, release)
		k.wait(second)
		k.expect(out, 5)
	})
}

// CUDA sees two graphs where Apply had to instantiate anew. Launches of one Exec run
// one behind the other all the same.
func TestLaunchesBeforeAndAfterApplyDoNotOverlap(t *testing.T) {
	each(t, func(k *kit) {
		out, other := k.memory(), k.stream()
		g, longer := k.graph(), k.graph()
		k.add(g, k.launch(k.plus, out, 1))
		k.add(longer, k.sumOf(out, out, out), k.add(longer, k.sumOf(out, out, out)))
		x := k.exec(g)
		for range 3 {
			release := k.blocked()
			k.ok(x.Launch(k.s))
			applied, err := x.Update(longer, graph.WithReinstantiate())
			k.ok(err)
			if !applied.Reinstantiated {
				t.Fatal("the graph was updated in place")
			}
			k.ok(x.Launch(other))
			time.AfterFunc(10*time.Millisecond, release)
			k.wait(other)
			applied, err = x.Update(g, graph.WithReinstantiate())
			k.ok(err)
			if !applied.Reinstantiated {
				t.Fatal("the graph was updated in place")
			}
		}
		k.expect(out, (((1+1)*4+1)*4+1)*4)
	})
}

// A launch can be waited for when its stream is closed.
func TestWaitForALaunchWhoseStreamIsClosed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		k.add(g, k.launch(k.plus, b, 2))
		x := k.exec(g)
		s := k.newStream()
		release := k.blockedOn(s)
		defer release()
		k.ok(x.Launch(s))
		k.ok(s.Close())
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the launch is under way: %v", err)
		}
		release()
		k.ok(x.Wait(background))
		k.ok(x.Wait(background))
		if s.Lifetime().Holders() != 0 {
			t.Error("the stream is held after the wait")
		}
		k.expect(b, 3)
	})
}

// The per-thread stream is another one on another thread, where the launch cannot be
// asked about.
func TestClosingAnExecOfThePerThreadStream(t *testing.T) {
	each(t, func(k *kit) {
		b, result := k.memoryOf(1), k.memory()
		ptr := b.Ptr()
		g, err := graph.New(k.c)
		k.ok(err)
		k.add(g, k.launch(k.plus, b, 2))
		x, err := g.Instantiate()
		k.ok(err)
		gate := make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		h, err := driver.NewHostFunc(k.c, func() { <-gate })
		k.ok(err)
		k.ok(onOtherThread(func() error {
			return errors.Join(k.c.PerThreadStream().Do(h), x.Launch(k.c.PerThreadStream()))
		}))
		captured := k.capture(func(sc *graph.Scope) error {
			err := onOtherThread(func() error { return errors.Join(x.Close(), g.Close(), b.Close()) })
			time.Sleep(20 * time.Millisecond)
			return errors.Join(err, sc.Do(k.launch(k.plus, result, 2)))
		})
		if !k.allocated(ptr) {
			t.Error("memory of a launch under way is not held")
		}
		release()
		graph.WaitParked()
		if k.allocated(ptr) {
			t.Error("memory is held after the launch")
		}
		k.run(k.exec(captured))
		k.expect(result, 3)
	})
}

// Nobody waits for the end of a launch whose exec is closed: what goes wrong then,
// the context says.
func TestWhatFailsBehindAClosedExecIsWithTheContext(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	other, err := k.c.Device().PrimaryContext() // the errors of the kit's own fail the test
	k.ok(err)
	s, err := other.NewStream()
	k.ok(err)
	g := k.graph()
	b := k.memoryOf(1)
	k.add(g, k.launch(k.plus, b, 2))
	x, err := g.Instantiate()
	k.ok(err)
	release := k.blockedOn(s)
	defer release()
	k.ok(x.Launch(s))
	lib.FailCall("cuEventDestroy_v2", 1, uint32(injected))
	k.ok(x.Close())
	release()
	graph.WaitParked()
	lib.Stop()
	if err := errors.Join(other.CleanupErrors()...); !errors.Is(err, injected) {
		t.Errorf("the context says %v", err)
	}
	k.expect(b, 3)
	k.ok(errors.Join(s.Close(), other.Close(), b.Close()))
}

// A launch that fails leaves the one before as it was: also where it is one in another
// context's per-thread stream, which needs another event.
func TestAFailedLaunchElsewhereLeavesTheOneBefore(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	there := k.beside()
	b := k.memory()
	g := k.graph()
	k.add(g, k.launch(k.plus, b, 2))
	x := k.exec(g)
	gate := make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	defer release()
	h, err := driver.NewHostFunc(k.c, func() { <-gate })
	k.ok(err)
	k.ok(onOtherThread(func() error {
		s := k.c.PerThreadStream()
		return errors.Join(s.Do(h), x.Launch(s))
	}))
	lib.FailCall("cuGraphLaunch", 1, uint32(injected))
	if err := x.Launch(there.c.PerThreadStream()); !errors.Is(err, injected) {
		t.Errorf("the launch elsewhere: %v", err)
	}
	lib.Stop()
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first launch is under way: %v", err)
	}
	release()
	k.ok(x.Wait(background))
	k.expect(b, 3)
	k.ok(x.Launch(there.c.PerThreadStream()))
	k.ok(x.Wait(background))
	k.expect(b, 5)
}

// allocated reports whether there is memory at an address.
func (k *kit) allocated(p driver.CUdeviceptr) bool {
	var base driver.CUdeviceptr
	var size uintptr
	return k.c.Guarded().CuMemGetAddressRange(&base, &size, p) == nil
}

func (k *kit) newStream() *driver.Stream {
	k.Helper()
	s, err := k.c.NewStream()
	k.ok(err)
	return s
}

// onOtherThread runs f on a thread that nothing else has, and that ends with it.
func onOtherThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- f()
	}()
	return <-done
}
