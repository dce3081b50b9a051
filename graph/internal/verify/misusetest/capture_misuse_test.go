package misusetest_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

// For each of CUDA's error codes about captures, the misuse must return that code with a sentence
// that states its usual cause. Afterwards the streams must work.
func TestCaptureErrorsHaveNamesAndHints(t *testing.T) {
	each(t, func(k *kit) {
		d := k.C.Driver()
		other := k.Stream()
		uncaptured, inside, out := k.Event(), k.Event(), k.Event()
		k.OK(k.S.Record(out))
		k.Wait(k.S)
		for _, c := range []struct {
			code driver.CUresult
			mode graph.Mode
			do   func(sc *graph.Scope) error
		}{
			{driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, graph.ModeGlobal, func(sc *graph.Scope) error {
				return graphtest.Second(driver.Alloc[byte](k.C, 64))
			}},
			{driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, graph.ModeGlobal, func(sc *graph.Scope) error {
				_, _ = driver.Alloc[byte](k.C, 64)
				return sc.Stream().Record(inside)
			}},
			{driver.CUDA_ERROR_STREAM_CAPTURE_MERGE, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				r, err := graph.Begin(other, graph.ModeRelaxed)
				k.OK(err)
				defer r.Abort()
				k.OK(other.Record(inside))
				return sc.Stream().WaitEvent(inside)
			}},
			{driver.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				f, err := sc.Fork(other)
				k.OK(err)
				var g driver.CUgraph
				return d.CuStreamEndCapture(f.Stream().Raw(), &g)
			}},
			{driver.CUDA_ERROR_STREAM_CAPTURE_ISOLATION, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				return sc.Stream().WaitEvent(out)
			}},
			{driver.CUDA_ERROR_CAPTURED_EVENT, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				k.OK(sc.Stream().Record(uncaptured))
				return graphtest.Second(uncaptured.Query())
			}},
		} {
			g, err := graph.Capture(k.S, c.mode, c.do)
			if g != nil || !errors.Is(err, c.code) || !explained(err, c.code) {
				k.Errorf("%v: got %v, %v", c.code, g, err)
			}
			k.Usable(k.S)
			k.Usable(other)
		}
	})
}

// explained reports whether an error contains the name of a code and its usual cause.
func explained(err error, code driver.CUresult) bool {
	name, hint, ok := strings.Cut(code.Error(), ": ")
	return ok && strings.Contains(err.Error(), name) && strings.Contains(err.Error(), hint)
}

// Work in the legacy stream waits for blocking streams, so it must be rejected while a blocking
// stream is capturing.
func TestCaptureErrorOfTheLegacyStreamHasNameAndHint(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		s, err := k.C.NewStream(driver.WithLegacySync())
		k.OK(err)
		k.CloseLater(s)
		_, err = graph.Capture(s, graph.ModeThreadLocal, func(*graph.Scope) error {
			return k.C.LegacyStream().Do(k.Launch(k.Plus, b, 1))
		})
		if code := driver.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT; !errors.Is(err, code) || !explained(err, code) {
			k.Errorf("got %v", err)
		}
		k.Usable(s)
	})
}

// A host function must not call CUDA, not even through a capture.
func TestCaptureCallsFromAHostFunctionAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		busy, free, third := k.Stream(), k.Stream(), k.Stream()
		op := k.Launch(k.Plus, b, 1)
		r, err := graph.Begin(k.S, graph.ModeRelaxed)
		k.OK(err)
		defer r.Abort()
		sc := r.Scope()
		f, err := sc.Fork(third)
		k.OK(err)
		refused := make(chan map[string]error, 1)
		k.OK(busy.HostFunc(func() {
			active := errors.New("active")
			if !sc.Active() {
				active = driver.CUDA_ERROR_NOT_PERMITTED
			}
			refused <- map[string]error{
				"Begin": graphtest.Second(graph.Begin(free, graph.ModeRelaxed)),
				"Do":    sc.Do(op), "Fork": graphtest.Second(sc.Fork(free)), "Join": sc.Join(f), "Graph": graphtest.Second(sc.Graph()),
				"Dependencies": graphtest.Second(sc.Dependencies()), "SetDependencies": sc.SetDependencies(),
				"Relaxed": sc.Relaxed(func() error { return nil }), "ID": graphtest.Second(sc.ID()), "Active": active,
				"End": graphtest.Second(r.End()), "Abort": r.Abort(),
			}
		}))
		for what, err := range <-refused {
			if !errors.Is(err, driver.CUDA_ERROR_NOT_PERMITTED) {
				k.Errorf("%s: %v, want a refusal", what, err)
			}
		}
		k.OK(sc.Join(f))
		k.OK(sc.Do(op)) // the capture must continue
		g, err := r.End()
		k.OK(err)
		k.CloseLater(g)
		k.Wait(busy)
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestCaptureOfAStreamThatOthersCapture(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		d := k.C.Driver()
		k.OK(d.CuStreamBeginCapture(other.Raw(), graph.ModeRelaxed))
		_, err := graph.Begin(other, graph.ModeRelaxed)
		if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) || !strings.Contains(err.Error(), "already") {
			k.Errorf("Begin: %v", err)
		}
		g := k.Capture(func(sc *graph.Scope) error {
			if _, err := sc.Fork(other); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_MERGE) {
				k.Errorf("Fork: %v", err)
			}
			return sc.Do(k.Launch(k.Plus, b, 1)) // the rejected Fork must not end the capture
		})
		var theirs driver.CUgraph
		k.OK(d.CuStreamEndCapture(other.Raw(), &theirs))
		k.OK(d.CuGraphDestroy(theirs))
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

// A second capture on a stream must be rejected with a message that names where both captures
// began.
func TestNestedCaptureOfAForkIsRefusedWithThePlace(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		k.Capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			_, err = graph.Begin(other, graph.ModeRelaxed)
			if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) || strings.Count(err.Error(), "capture_misuse_test.go") != 2 {
				k.Errorf("Begin of a forked stream: %v, want a refusal that names both places", err)
			}
			return sc.Join(f)
		})
	})
}

func TestForkRefusesWhatIsNoOtherStream(t *testing.T) {
	each(t, func(k *kit) {
		closed := k.Stream()
		k.OK(closed.Close())
		c := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := c.NewStream()
		k.OK(err)
		k.CloseLater(far)
		b := k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			for _, wrong := range []struct {
				what string
				s    *driver.Stream
				want error
			}{
				{"nil", nil, driver.CUDA_ERROR_INVALID_VALUE}, {"closed", closed, driver.ErrClosed},
				{"legacy", k.C.LegacyStream(), driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
				{"itself", k.S, driver.CUDA_ERROR_INVALID_VALUE}, {"another driver", far, driver.CUDA_ERROR_INVALID_VALUE},
			} {
				if f, err := sc.Fork(wrong.s); f != nil || !errors.Is(err, wrong.want) {
					k.Errorf("%s: %v, %v, want %v", wrong.what, f, err, wrong.want)
				}
			}
			if err := sc.Join(sc); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("joined to itself: %v", err)
			}
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

// Several goroutines must be able to record in one capture while another adds nodes to its graph.
func TestCaptureByManyGoroutines(t *testing.T) {
	each(t, func(k *kit) {
		const each = 50
		buffers := make([]*driver.Buffer[uint32], 4)
		streams := make([]*driver.Stream, len(buffers))
		ops := make([]*driver.Launch, len(buffers))
		for i := range buffers {
			buffers[i], streams[i] = k.Memory(), k.Stream()
			ops[i] = k.Launch(k.Plus, buffers[i], 1)
		}
		g := k.Capture(func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.OK(err)
			forks := make([]*graph.Scope, len(buffers)-1)
			for i := range forks {
				forks[i], err = sc.Fork(streams[i])
				k.OK(err)
			}
			var wg sync.WaitGroup
			for i, f := range forks {
				wg.Go(func() {
					for range each {
						if err := f.Do(ops[i]); err != nil {
							k.Error(err)
						}
					}
				})
			}
			wg.Go(func() {
				var deps []graph.Node
				for range each {
					n, err := inside.Add(ops[len(ops)-1], deps...)
					if err != nil {
						k.Error(err)
					}
					deps = []graph.Node{n}
				}
			})
			wg.Wait()
			return sc.Join(forks...)
		})
		if n, err := g.Len(); n != each*len(buffers) || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
		k.Run(k.Exec(g))
		for _, b := range buffers {
			k.Expect(b, 1+each)
		}
	})
}

func TestCapturesSideBySide(t *testing.T) {
	each(t, func(k *kit) {
		var wg sync.WaitGroup
		for i := range 8 {
			b, s := k.Memory(), k.Stream()
			op := k.Launch(k.Plus, b, uint32(i))
			base := k.Graph()
			wg.Go(func() {
				for n := range 20 {
					if err := sideBySide(s, op, graphtest.Modes[(i+n)%2+1], base); err != nil {
						k.Errorf("goroutine %d: %v", i, err)
					}
				}
			})
		}
		wg.Wait()
	})
}

func sideBySide(s *driver.Stream, op driver.Op, mode graph.Mode, base *graph.Graph) error {
	g, err := graph.Capture(s, mode, func(sc *graph.Scope) error {
		if _, err := sc.Dependencies(); err != nil {
			return err
		}
		return errors.Join(sc.Do(op), sc.Relaxed(func() error { return nil }), sc.Do(op))
	})
	if err != nil {
		return err
	}
	_, err = graphtest.CaptureInto(base, s, mode, nil, func(sc *graph.Scope) error { return sc.Do(op) })
	return errors.Join(err, g.Close())
}

func TestWorkForOtherStreamsRunsAtOnceDuringACapture(t *testing.T) {
	each(t, func(k *kit) {
		a, b, other := k.Memory(), k.Memory(), k.Stream()
		now, later := k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)
		g := k.Capture(func(sc *graph.Scope) error {
			k.OK(errors.Join(sc.Do(later), other.Do(now)))
			k.Wait(other)
			return nil
		})
		k.Expect(a, 2)
		k.Expect(b, 1)
		k.Run(k.Exec(g))
		k.Expect(a, 2)
		k.Expect(b, 2)
	})
}

func TestWaitingForACapturingStreamFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		op := k.Launch(k.Plus, b, 1)
		_, err := graph.Capture(k.S, graph.ModeRelaxed, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(op), sc.Relaxed(func() error { return k.S.Wait(background) }))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
			k.Errorf("got %v, want 900", err)
		}
		k.Usable(k.S)
		k.Expect(b, 1)
	})
}

// Keep must retain the objects of work recorded outside the Scope, whether or not the program
// obtained the graph.
func TestKeepDuringACapture(t *testing.T) {
	each(t, func(k *kit) {
		for _, early := range []bool{false, true} {
			out, add := k.Memory(), k.MemoryOf(9)
			sum, err := k.Sum.Prepare(config, out, out, add, uint32(elems))
			k.OK(err)
			g := k.Capture(func(sc *graph.Scope) error {
				if early {
					k.OK(graphtest.Second(sc.Graph()))
				}
				if err := sc.Keep(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("nil: %v", err)
				}
				return errors.Join(sc.Stream().Do(sum), sc.Keep(add.Ref()))
			})
			k.OK(add.Close())
			k.CloseLater(k.MemoryOf(1000))
			k.Run(k.Exec(g))
			k.Expect(out, 10)
		}
	})
}

const (
	droppers       = 8
	droppedByEach  = 20
	kindsOfDropped = 5
)

// While a GLOBAL capture is open, CUDA rejects cuMemFree and similar calls on every thread of the
// process, and each attempt invalidates the capture. Objects that become unreachable during the
// capture must be freed without invalidating it.
func TestGlobalCaptureSurvivesReclamationOnOtherThreads(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		launch := k.Launch(k.Plus, b, 1)
		held := make([][]any, droppers)
		for i := range held {
			held[i] = disposable(k)
		}
		const launches = 100
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(scope *graph.Scope) error {
			for i := range launches {
				if err := scope.Do(launch); err != nil {
					return err
				}
				if i == launches/2 {
					dropAll(held)
					gputest.ExpectDropped(k, k.C.Device().Driver(), droppers*droppedByEach*kindsOfDropped)
				}
			}
			return nil
		})
		k.OK(err)
		k.CloseLater(g)
		k.Run(k.Exec(g))
		k.Expect(b, 1+launches)
	})
}

// disposable creates several objects of every kind whose destruction could disturb a capture.
func disposable(k *kit) (all []any) {
	k.Helper()
	for range droppedByEach {
		b, err1 := driver.Alloc[byte](k.C, 1000)
		h, err2 := driver.AllocHost[byte](k.C, 1000)
		s, err3 := k.C.NewStream()
		m, err4 := k.C.LoadModule([]byte(graphtest.Kernels))
		g, err5 := graph.New(k.C)
		k.OK(errors.Join(err1, err2, err3, err4, err5))
		all = append(all, b, h, s, m, g)
	}
	return all
}

// dropAll drops all objects on separate goroutines, which also run the collector.
func dropAll(held [][]any) {
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() {
			for j := range held[i] {
				held[i][j] = nil
				if j%16 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}
