package graph_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestRelaxedSectionAllowsWhatTheCaptureForbids(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
				k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
				k.OK(sc.Relaxed(func() error {
					inside, err := driver.Alloc[uint32](k.C, elems)
					if err != nil {
						return err
					}
					m, err := k.C.LoadModule([]byte(graphtest.Kernels))
					if err != nil {
						return err
					}
					return errors.Join(m.Close(), inside.Close(), sc.Do(k.Launch(k.Plus, b, 1)))
				}))
				return sc.Do(k.Launch(k.Plus, b, 1))
			})
			k.OK(err)
			k.CloseLater(g)
			k.Run(k.Exec(g))
			k.Expect(b, 4)
		}
	})
}

// However the function of a relaxed section ends, the calls that the capture forbids must be
// forbidden again.
func TestRelaxedSectionEnds(t *testing.T) {
	each(t, func(k *kit) {
		for name, section := range map[string]func(sc *graph.Scope) error{
			"well":     func(sc *graph.Scope) error { return sc.Relaxed(func() error { return nil }) },
			"by error": func(sc *graph.Scope) error { return sc.Relaxed(func() error { return graphtest.ErrRecord }) },
			"nested": func(sc *graph.Scope) error {
				return sc.Relaxed(func() error { return sc.Relaxed(func() error { return nil }) })
			},
			"by panic": func(sc *graph.Scope) error {
				defer func() { _ = recover() }()
				return sc.Relaxed(func() error { panic("boom") })
			},
		} {
			_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				if err := section(sc); (name == "by error") != (err == graphtest.ErrRecord) {
					k.Errorf("%s: %v", name, err)
				}
				_, err := driver.Alloc[byte](k.C, 64)
				return err
			})
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("%s: an allocation after it: %v, want 900", name, err)
			}
			k.Usable(k.S)
		}
	})
}

// A relaxed section must also keep captures of other threads valid, even if the section and the
// capture run on different goroutines.
func TestRelaxedSectionSparesCapturesOfOtherThreads(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		op := k.Launch(k.Plus, b, 1)
		g, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			done := make(chan error)
			go func() {
				_, err := graph.Capture(other, graph.ModeRelaxed, func(theirs *graph.Scope) error {
					return theirs.Relaxed(func() error {
						inside, err := driver.Alloc[byte](k.C, 64)
						return errors.Join(err, inside.Close(), graphtest.ErrRecord)
					})
				})
				done <- err
				done <- sc.Relaxed(func() error {
					inside, err := driver.Alloc[byte](k.C, 64)
					return errors.Join(err, inside.Close())
				})
			}()
			if err := <-done; !errors.Is(err, graphtest.ErrRecord) || errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Error(err)
			}
			return errors.Join(<-done, sc.Do(op))
		})
		k.OK(err)
		k.CloseLater(g)
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestRelaxedSectionIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		var kept *graph.Scope
		k.Capture(func(sc *graph.Scope) error {
			kept = sc
			if err := sc.Relaxed(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("nil function: %v", err)
			}
			return nil
		})
		ran := false
		err := kept.Relaxed(func() error { ran = true; return nil })
		if !errors.Is(err, graph.ErrEnded) || ran {
			k.Errorf("after the capture: %v, ran: %v", err, ran)
		}
	})
}

// All streams of a capture have the same capture ID, which no other capture has.
func TestCaptureIDAndStatus(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		seen := make(map[uint64]bool)
		var kept *graph.Scope
		for range 3 {
			k.Capture(func(sc *graph.Scope) error {
				kept = sc
				id, err := sc.ID()
				k.OK(err)
				f, err := sc.Fork(other)
				k.OK(err)
				same, err := f.ID()
				k.OK(err)
				status, again, err := f.Status()
				k.OK(err)
				if seen[id] || id == 0 || same != id || again != id || status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE || !f.Active() {
					k.Errorf("ids %d, %d, %d, status %v", id, same, again, status)
				}
				seen[id] = true
				return sc.Join(f)
			})
		}
		if _, err := kept.ID(); !errors.Is(err, graph.ErrEnded) || kept.Active() {
			k.Errorf("after the end: %v, active: %v", err, kept.Active())
		}
		if status, _, err := kept.Status(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
			k.Errorf("after the end: %v, %v", status, err)
		}
	})
}

func TestCaptureOutputIsHandedOutOnce(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g, out, err := callable.CaptureValue(k.S, graph.ModeRelaxed, func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
			return b, sc.Do(k.Launch(k.Plus, b, 1))
		})
		k.OK(err)
		k.CloseLater(g)
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for range 8 {
			wg.Go(func() {
				got, ok := out.Take()
				mu.Lock()
				defer mu.Unlock()
				if ok != (got == b) || !ok && got != nil {
					k.Errorf("took %v, %v", got, ok)
				}
				if ok {
					taken++
				}
			})
		}
		wg.Wait()
		if taken != 1 {
			k.Errorf("handed out %d times", taken)
		}
		if v, ok := (*callable.Output[int])(nil).Take(); v != 0 || ok {
			k.Errorf("nil output: %v, %v", v, ok)
		}
	})
}

// The result of callable.CaptureReady must be uploaded, with no work in flight.
func TestCaptureReadyMayBeReadAndLaunchedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		for _, opts := range [][]graph.Option{nil, {graph.WithUpload(k.Stream())}} {
			b := k.Memory()
			warm := k.Launch(k.Plus, b, 10)
			k.OK(k.S.Do(warm)) // this earlier work must also have finished
			c, err := callable.CaptureReady(background, k.S, graph.ModeThreadLocal, func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
				return b, sc.Do(k.Launch(k.Plus, b, 1))
			}, opts...)
			k.OK(err)
			out, ok := c.Output.Take()
			if !ok || !c.Exec.Uploaded() || c.Exec.Replays() != 0 {
				k.Errorf("output %v, uploaded %v, %d replays", ok, c.Exec.Uploaded(), c.Exec.Replays())
			}
			k.Expect(out, 11)
			k.Run(c.Exec)
			k.Expect(out, 12)
			k.OK(c.Close())
			k.OK(c.Close())
		}
	})
}

func TestForkAgainToTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Stream()
		a, b := k.Memory(), k.Memory()
		add, err := k.Sum.Prepare(config, a, a, b, uint32(elems))
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			for range 3 { // a += 1 and b *= 2 concurrently, then a += b
				k.OK(sc.ForkJoin([]*driver.Stream{other}, func(_ int, f *graph.Scope) error {
					return errors.Join(f.Do(k.Launch(k.Times, b, 2)), sc.Do(k.Launch(k.Plus, a, 1)))
				}))
				k.OK(sc.Do(add))
			}
			return nil
		})
		k.Usable(other)
		k.Run(k.Exec(g))
		k.Expect(a, 1+3+2+4+8)
		if n, err := g.Len(); n != 9 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

func TestForkJoinRunsSideBySide(t *testing.T) {
	each(t, func(k *kit) {
		streams := []*driver.Stream{k.Stream(), k.Stream(), k.Stream()}
		b := []*driver.Buffer[uint32]{k.Memory(), k.Memory(), k.Memory()}
		end := k.Launch(k.Plus, b[0], 100)
		g := k.Capture(func(sc *graph.Scope) error {
			err := sc.ForkJoin(streams, func(i int, f *graph.Scope) error {
				return f.Do(k.Launch(k.Plus, b[i], uint32(i)))
			})
			return errors.Join(err, sc.Do(end))
		})
		shape(k, g, 3, 3)
		k.Run(k.Exec(g))
		k.Expect(b[0], 101)
		k.Expect(b[2], 3)
	})
}

func shape(k *kit, g *graph.Graph, roots, edges int) {
	k.Helper()
	for _, err := range g.Roots() {
		k.OK(err)
		roots--
	}
	for _, err := range g.Edges() {
		k.OK(err)
		edges--
	}
	if roots != 0 || edges != 0 {
		k.Errorf("the graph has %d roots and %d edges less than it should", roots, edges)
	}
}

func TestForkJoinJoinsWhenTheFunctionFails(t *testing.T) {
	each(t, func(k *kit) {
		streams := []*driver.Stream{k.Stream(), k.Stream()}
		b := k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			err := sc.ForkJoin(streams, func(i int, f *graph.Scope) error {
				return errors.Join(f.Do(k.Launch(k.Plus, b, 1)), graphtest.ErrRecord)
			})
			if !errors.Is(err, graphtest.ErrRecord) {
				k.Errorf("got %v", err)
			}
			return nil // the capture must still be valid
		})
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

func TestParallelBranchesOfOneStream(t *testing.T) {
	each(t, func(k *kit) { parallel(k) })
}

func TestParallelBranchesOnOlderDrivers(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		parallel(newKit(t, c))
	})
}

func parallel(k *kit) {
	a, b, d := k.Memory(), k.Memory(), k.Memory()
	sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
	k.OK(err)
	g := k.Capture(func(sc *graph.Scope) error {
		k.OK(sc.Do(k.Launch(k.Plus, a, 1)))
		k.OK(sc.Parallel(
			func(sc *graph.Scope) error {
				return errors.Join(sc.Do(k.Launch(k.Times, a, 2)), sc.Do(k.Launch(k.Plus, a, 1)))
			},
			func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Plus, b, 5)) },
			func(*graph.Scope) error { return nil },
		))
		return sc.Do(sum)
	})
	shape(k, g, 1, 6) // edges: to both branches, within one, from both ends, and around both
	k.Run(k.Exec(g))
	k.Expect(d, 11)
}

func TestParallelReturnsTheErrorOfABranch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Parallel(
				func(sc *graph.Scope) error { return sc.Do(k.Launch(k.Plus, b, 5)) },
				func(*graph.Scope) error { return graphtest.ErrRecord })
		})
		if err != graphtest.ErrRecord {
			k.Errorf("got %v", err)
		}
		_, err = graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Parallel(nil) })
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("no function: %v", err)
		}
		k.Usable(k.S)
	})
}

// While the stream is capturing, adding the same operations directly must create the same graph as
// the capture.
func TestRecordByHandWhileTheStreamIsCaptured(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		ops := []driver.Op{k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 6)}
		var byHand *graph.Graph
		captured := k.Capture(func(sc *graph.Scope) error {
			var err error
			byHand, err = graphtest.Sequence(k.C, ops...)
			return err
		})
		k.CloseLater(byHand)
		if n, err := captured.Len(); n != 0 || err != nil {
			k.Errorf("%d nodes got into the capture, %v", n, err)
		}
		k.Run(k.Exec(byHand))
		k.Expect(b, 12)
	})
}

func TestRecordReturnsTheErrorOfAnOperation(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(1)
		ops := []driver.Op{k.Launch(k.Plus, b, 1), k.Launch(k.Times, gone, 6)}
		k.OK(gone.Close())
		if g, err := graphtest.Recorded(k.S, ops...); g != nil || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("captured: %v, %v", g, err)
		}
		if g, err := graphtest.Sequence(k.C, ops...); g != nil || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("by hand: %v, %v", g, err)
		}
		k.Usable(k.S)
	})
}

func TestPerThreadStreamIsCapturedWhateverTheMode(t *testing.T) {
	each(t, func(k *kit) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s := k.C.PerThreadStream()
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			g, err := graph.Capture(s, mode, func(sc *graph.Scope) error {
				inside, err := sc.Graph()
				k.OK(err)
				k.Add(inside, k.Launch(k.Plus, b, 1))
				elsewhere := make(chan error)
				go func() { elsewhere <- graphtest.Second(inside.AddEmpty()) }()
				if err := <-elsewhere; !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
					k.Errorf("from another thread: %v", err)
				}
				if _, err := graph.Begin(s, mode); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) {
					k.Errorf("nested: %v", err)
				}
				return nil
			})
			k.OK(err)
			k.CloseLater(g)
			k.Run(k.Exec(g))
			k.Expect(b, 2)
		}
	})
}

// Recording an operation must not allocate, whether or not the program obtained the graph.
func TestRecordingAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { recordingAllocs(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { recordingAllocs(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func recordingAllocs(k *kit) {
	k.Helper()
	l := k.Launch(k.Plus, k.Memory(), 1)
	g := k.Graph()
	for name, begin := range map[string]func() (*graph.Recording, error){
		"Begin":     func() (*graph.Recording, error) { return graph.Begin(k.S, graph.ModeThreadLocal) },
		"BeginInto": func() (*graph.Recording, error) { return graphtest.BeginInto(g, k.S, graph.ModeThreadLocal) },
	} {
		r, err := begin()
		k.OK(err)
		sc := r.Scope()
		k.OK(sc.Do(l))
		k.None(name, func() { k.OK(sc.Do(l)) })
		_ = r.Abort() // the null driver has no graph to destroy
	}
}

func TestInvalidatedCaptureMustBeEnded(t *testing.T) {
	each(t, func(k *kit) {
		r, err := graph.Begin(k.S, graph.ModeGlobal)
		k.OK(err)
		_, _ = driver.Alloc[byte](k.C, 64)
		if status, _, err := r.Scope().Status(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
			k.Errorf("status %v, %v", status, err)
		}
		if _, err := graph.Begin(k.S, graph.ModeGlobal); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) {
			k.Errorf("another capture before the end: %v", err)
		}
		if err := r.Abort(); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Errorf("Abort: %v", err)
		}
		again, err := graph.Begin(k.S, graph.ModeGlobal)
		k.OK(err)
		k.OK(again.Abort())
		k.Usable(k.S)
	})
}

func TestNilRecording(t *testing.T) {
	var r *graph.Recording
	if err := r.Abort(); err != nil {
		t.Errorf("Abort: %v", err)
	}
	if _, err := r.End(); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("End: %v", err)
	}
}

// A list with every kind of recordable operation must create the same nodes in the same order, with
// the same results, whether it is captured or added directly.
func TestRecordGivesTheSameEitherWay(t *testing.T) {
	each(t, func(k *kit) {
		var shown []string
		for _, make := range []func(ops ...driver.Op) (*graph.Graph, error){
			func(ops ...driver.Op) (*graph.Graph, error) { return graphtest.Recorded(k.S, ops...) },
			func(ops ...driver.Op) (*graph.Graph, error) { return graphtest.Sequence(k.C, ops...) },
		} {
			shown = append(shown, k.madeOf(make, k.everyKind()))
		}
		if shown[0] != shown[1] {
			k.Errorf("by capture and by hand differ:\n%s\n%s", shown[0], shown[1])
		}
	})
}

// In a capture, events become dependencies between streams. If event operations are added directly,
// each replay records the events.
func TestRecordedEventsHappenInReplays(t *testing.T) {
	each(t, func(k *kit) {
		l := k.everyKind()
		l.ops = append(l.ops, driver.RecordOp(l.event), driver.WaitOp(l.event))
		k.madeOf(func(ops ...driver.Op) (*graph.Graph, error) { return graphtest.Sequence(k.C, ops...) }, l)
		if done, err := l.event.Query(); err != nil || !done {
			k.Errorf("the event has happened: %v, %v", done, err)
		}
	})
}

// madeOf builds the graph of a list, runs it twice and describes its nodes and their results.
func (k *kit) madeOf(make func(...driver.Op) (*graph.Graph, error), l *everyKind) string {
	k.Helper()
	g, err := make(l.ops...)
	k.OK(err)
	k.CloseLater(g)
	x := k.Exec(g)
	k.Run(x)
	k.Run(x)
	return k.sorts(g) + l.result()
}

// everyKind is a list of operations together with the memory they change.
type everyKind struct {
	*kit
	ops     []driver.Op
	a, b, c *driver.Buffer[uint32]
	host    *driver.HostBuffer[uint32]
	event   *driver.Event
	calls   int
}

func (k *kit) everyKind() *everyKind {
	l := &everyKind{kit: k, a: k.Memory(), b: k.Memory(), c: k.Memory(), event: k.Event()}
	var err error
	l.host, err = driver.AllocHost[uint32](k.C, elems)
	k.OK(err)
	k.CloseLater(l.host)
	for i := range l.host.Slice() {
		l.host.Slice()[i] = uint32(i)
	}
	l.ops = []driver.Op{
		graphtest.Op[*driver.CopyOp](k.Kit)(driver.Upload[uint32](l.a, l.host)),
		k.Launch(k.Plus, l.a, 3),
		graphtest.Op[*driver.FillOp](k.Kit)(driver.Fill[uint32](l.b, 5)),
		graphtest.Op[*driver.FillOp](k.Kit)(driver.Fill2D[uint32](l.c, 7, 16, 4, 2)),
		graphtest.Op[*driver.CopyOp](k.Kit)(driver.Copy2D(driver.Region{Memory: l.c, Pitch: 32}, driver.Region{Memory: l.a, Pitch: 64}, 8, 2)),
		graphtest.Op[*driver.MemOp](k.Kit)(driver.NewMemOp(k.C, driver.WriteWord[uint32](l.b, 3, 99, 0))),
		graphtest.Op[*driver.CopyOp](k.Kit)(driver.CopyDevice[uint32](l.b.View(8, 16), l.a.View(0, 8))),
		k.Launch(k.Times, l.b, 2),
		graphtest.Op[*driver.HostFunc](k.Kit)(driver.NewHostFunc(k.C, func() { l.calls++ })),
		graphtest.Op[*driver.CopyOp](k.Kit)(driver.Download[uint32](l.host, l.b)),
	}
	return l
}

func (l *everyKind) result() string {
	l.Helper()
	out := fmt.Sprintf("calls %d, host %v", l.calls, l.host.Slice())
	for _, b := range []*driver.Buffer[uint32]{l.a, l.b, l.c} {
		got := make([]uint32, b.Len())
		l.OK(b.CopyTo(got))
		out += fmt.Sprint("\n", got)
	}
	return out
}

func (k *kit) sorts(g *graph.Graph) (list string) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.OK(err)
		kind, err := n.Type()
		k.OK(err)
		before, err := n.Dependencies()
		k.OK(err)
		list += fmt.Sprintf("%v after %v, ", kind, before)
	}
	return list + "\n"
}
