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
	"github.com/purecuda/cuda/internal/gputest"
)

// In a relaxed section what the capture forbids acts at once, and the capture
// goes on.
func TestRelaxedSectionAllowsWhatTheCaptureForbids(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			b := k.memory()
			g, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
				k.ok(sc.Do(k.launch(k.plus, b, 1)))
				k.ok(sc.Relaxed(func() error {
					inside, err := driver.Alloc[uint32](k.c, elems)
					if err != nil {
						return err
					}
					m, err := k.c.LoadModule([]byte(kernels))
					if err != nil {
						return err
					}
					return errors.Join(m.Close(), inside.Close(), sc.Do(k.launch(k.plus, b, 1)))
				}))
				return sc.Do(k.launch(k.plus, b, 1))
			})
			k.ok(err)
			k.closeLater(g)
			k.run(k.exec(g))
			k.expect(b, 4)
		}
	})
}

// The exemption ends with the section, however it ends.
func TestRelaxedSectionEnds(t *testing.T) {
	each(t, func(k *kit) {
		for name, section := range map[string]func(sc *graph.Scope) error{
			"well":     func(sc *graph.Scope) error { return sc.Relaxed(func() error { return nil }) },
			"by error": func(sc *graph.Scope) error { return sc.Relaxed(func() error { return errRecord }) },
			"nested": func(sc *graph.Scope) error {
				return sc.Relaxed(func() error { return sc.Relaxed(func() error { return nil }) })
			},
			"by panic": func(sc *graph.Scope) error {
				defer func() { _ = recover() }()
				return sc.Relaxed(func() error { panic("boom") })
			},
		} {
			_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
				if err := section(sc); (name == "by error") != (err == errRecord) {
					k.Errorf("%s: %v", name, err)
				}
				_, err := driver.Alloc[byte](k.c, 64)
				return err
			})
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("%s: an allocation after it: %v, want 900", name, err)
			}
			k.usable(k.s)
		}
	})
}

// Captures of other threads are spared, too, and the section may be on a
// goroutine other than that of the capture.
func TestRelaxedSectionSparesCapturesOfOtherThreads(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		op := k.launch(k.plus, b, 1)
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			done := make(chan error)
			go func() {
				_, err := graph.Capture(other, graph.ModeRelaxed, func(theirs *graph.Scope) error {
					return theirs.Relaxed(func() error {
						inside, err := driver.Alloc[byte](k.c, 64)
						return errors.Join(err, inside.Close(), errRecord)
					})
				})
				done <- err
				done <- sc.Relaxed(func() error {
					inside, err := driver.Alloc[byte](k.c, 64)
					return errors.Join(err, inside.Close())
				})
			}()
			if err := <-done; !errors.Is(err, errRecord) || errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Error(err)
			}
			return errors.Join(<-done, sc.Do(op))
		})
		k.ok(err)
		k.closeLater(g)
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestRelaxedSectionIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		var kept *graph.Scope
		k.capture(func(sc *graph.Scope) error {
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

// The number of a capture is that of all its streams, and of no other capture.
func TestCaptureIDAndStatus(t *testing.T) {
	each(t, func(k *kit) {
		other := k.stream()
		seen := make(map[uint64]bool)
		var kept *graph.Scope
		for range 3 {
			k.capture(func(sc *graph.Scope) error {
				kept = sc
				id, err := sc.ID()
				k.ok(err)
				f, err := sc.Fork(other)
				k.ok(err)
				same, err := f.ID()
				k.ok(err)
				status, again, err := f.Status()
				k.ok(err)
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
		b := k.memory()
		g, out, err := callable.CaptureValue(k.s, graph.ModeRelaxed, func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
			return b, sc.Do(k.launch(k.plus, b, 1))
		})
		k.ok(err)
		k.closeLater(g)
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

// A captured function is ready to run: uploaded, and nothing is under way.
func TestCaptureReadyMayBeReadAndLaunchedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		for _, opts := range [][]graph.Option{nil, {graph.WithUpload(k.stream())}} {
			b := k.memory()
			warm := k.launch(k.plus, b, 10)
			k.ok(k.s.Do(warm)) // what was sent before is over, too
			c, err := callable.CaptureReady(background, k.s, graph.ModeThreadLocal, func(sc *graph.Scope) (*driver.Buffer[uint32], error) {
				return b, sc.Do(k.launch(k.plus, b, 1))
			}, opts...)
			k.ok(err)
			out, ok := c.Output.Take()
			if !ok || !c.Exec.Uploaded() || c.Exec.Replays() != 0 {
				k.Errorf("output %v, uploaded %v, %d replays", ok, c.Exec.Uploaded(), c.Exec.Replays())
			}
			k.expect(out, 11)
			k.run(c.Exec)
			k.expect(out, 12)
			k.ok(c.Close())
			k.ok(c.Close())
		}
	})
}

func TestForkAgainToTheSameStream(t *testing.T) {
	each(t, func(k *kit) {
		other := k.stream()
		a, b := k.memory(), k.memory()
		add, err := k.sum.Prepare(config, a, a, b, uint32(elems))
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			for range 3 { // a += 1 beside b *= 2, then a += b
				k.ok(sc.ForkJoin([]*driver.Stream{other}, func(_ int, f *graph.Scope) error {
					return errors.Join(f.Do(k.launch(k.times, b, 2)), sc.Do(k.launch(k.plus, a, 1)))
				}))
				k.ok(sc.Do(add))
			}
			return nil
		})
		k.usable(other)
		k.run(k.exec(g))
		k.expect(a, 1+3+2+4+8)
		if n, err := g.Len(); n != 9 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

// The width of a graph is the number of nodes that can run at a time.
func TestForkJoinRunsSideBySide(t *testing.T) {
	each(t, func(k *kit) {
		streams := []*driver.Stream{k.stream(), k.stream(), k.stream()}
		b := []*driver.Buffer[uint32]{k.memory(), k.memory(), k.memory()}
		end := k.launch(k.plus, b[0], 100)
		g := k.capture(func(sc *graph.Scope) error {
			err := sc.ForkJoin(streams, func(i int, f *graph.Scope) error {
				return f.Do(k.launch(k.plus, b[i], uint32(i)))
			})
			return errors.Join(err, sc.Do(end))
		})
		shape(k, g, 3, 3)
		k.run(k.exec(g))
		k.expect(b[0], 101)
		k.expect(b[2], 3)
	})
}

// shape compares the numbers of roots and edges.
func shape(k *kit, g *graph.Graph, roots, edges int) {
	k.Helper()
	for _, err := range g.Roots() {
		k.ok(err)
		roots--
	}
	for _, err := range g.Edges() {
		k.ok(err)
		edges--
	}
	if roots != 0 || edges != 0 {
		k.Errorf("the graph has %d roots and %d edges less than it should", roots, edges)
	}
}

func TestForkJoinJoinsWhenTheFunctionFails(t *testing.T) {
	each(t, func(k *kit) {
		streams := []*driver.Stream{k.stream(), k.stream()}
		b := k.memory()
		g := k.capture(func(sc *graph.Scope) error {
			err := sc.ForkJoin(streams, func(i int, f *graph.Scope) error {
				return errors.Join(f.Do(k.launch(k.plus, b, 1)), errRecord)
			})
			if !errors.Is(err, errRecord) {
				k.Errorf("got %v", err)
			}
			return nil // the capture is whole
		})
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
	})
}

// Branches need no streams.
func TestParallelBranchesOfOneStream(t *testing.T) {
	each(t, func(k *kit) { parallel(k) })
}

func TestParallelBranchesOnOlderDrivers(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		parallel(newKit(t, c))
	})
}

func parallel(k *kit) {
	a, b, d := k.memory(), k.memory(), k.memory()
	sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
	k.ok(err)
	g := k.capture(func(sc *graph.Scope) error {
		k.ok(sc.Do(k.launch(k.plus, a, 1)))
		k.ok(sc.Parallel(
			func(sc *graph.Scope) error {
				return errors.Join(sc.Do(k.launch(k.times, a, 2)), sc.Do(k.launch(k.plus, a, 1)))
			},
			func(sc *graph.Scope) error { return sc.Do(k.launch(k.plus, b, 5)) },
			func(*graph.Scope) error { return nil },
		))
		return sc.Do(sum)
	})
	shape(k, g, 1, 6) // to both branches, inside one, from each end, and past them
	k.run(k.exec(g))
	k.expect(d, 11)
}

func TestParallelReturnsTheErrorOfABranch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			return sc.Parallel(
				func(sc *graph.Scope) error { return sc.Do(k.launch(k.plus, b, 5)) },
				func(*graph.Scope) error { return errRecord })
		})
		if err != errRecord {
			k.Errorf("got %v", err)
		}
		_, err = graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Parallel(nil) })
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("no function: %v", err)
		}
		k.usable(k.s)
	})
}

// Where a stream cannot be captured the same operations become the same graph
// by hand.
func TestRecordByHandWhileTheStreamIsCaptured(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		ops := []driver.Op{k.launch(k.plus, b, 1), k.launch(k.times, b, 6)}
		var byHand *graph.Graph
		captured := k.capture(func(sc *graph.Scope) error {
			var err error
			byHand, err = sequence(k.c, ops...)
			return err
		})
		k.closeLater(byHand)
		if n, err := captured.Len(); n != 0 || err != nil {
			k.Errorf("%d nodes got into the capture, %v", n, err)
		}
		k.run(k.exec(byHand))
		k.expect(b, 12)
	})
}

func TestRecordReturnsTheErrorOfAnOperation(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(1)
		ops := []driver.Op{k.launch(k.plus, b, 1), k.launch(k.times, gone, 6)}
		k.ok(gone.Close())
		if g, err := graphOf(k.s, ops...); g != nil || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("captured: %v, %v", g, err)
		}
		if g, err := sequence(k.c, ops...); g != nil || !errors.Is(err, driver.ErrClosed) {
			k.Errorf("by hand: %v, %v", g, err)
		}
		k.usable(k.s)
	})
}

// A capture of the per-thread stream is one of this thread's, whatever mode.
func TestPerThreadStreamIsCapturedWhateverTheMode(t *testing.T) {
	each(t, func(k *kit) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s := k.c.PerThreadStream()
		for _, mode := range modes {
			b := k.memory()
			g, err := graph.Capture(s, mode, func(sc *graph.Scope) error {
				inside, err := sc.Graph()
				k.ok(err)
				k.add(inside, k.launch(k.plus, b, 1))
				elsewhere := make(chan error)
				go func() { elsewhere <- second(inside.AddEmpty()) }()
				if err := <-elsewhere; !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
					k.Errorf("from another thread: %v", err)
				}
				if _, err := graph.Begin(s, mode); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) {
					k.Errorf("nested: %v", err)
				}
				return nil
			})
			k.ok(err)
			k.closeLater(g)
			k.run(k.exec(g))
			k.expect(b, 2)
		}
	})
}

// To record an operation allocates nothing, whether or not the graph was asked
// for.
func TestRecordingAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { recordingAllocs(newKit(t, gputest.Context(t, nullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { recordingAllocs(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func recordingAllocs(k *kit) {
	k.Helper()
	l := k.launch(k.plus, k.memory(), 1)
	g := k.graph()
	for name, begin := range map[string]func() (*graph.Recording, error){
		"Begin":     func() (*graph.Recording, error) { return graph.Begin(k.s, graph.ModeThreadLocal) },
		"BeginInto": func() (*graph.Recording, error) { return beginInto(g, k.s, graph.ModeThreadLocal) },
	} {
		r, err := begin()
		k.ok(err)
		sc := r.Scope()
		k.ok(sc.Do(l))
		if allocs := testing.AllocsPerRun(200, func() { k.ok(sc.Do(l)) }); allocs > allocsAllowed && !raceDetector {
			k.Errorf("%s: %v allocations", name, allocs)
		}
		_ = r.Abort() // the null driver has no graph to take back
	}
}

// An invalidated capture has to be ended before there is another.
func TestInvalidatedCaptureMustBeEnded(t *testing.T) {
	each(t, func(k *kit) {
		r, err := graph.Begin(k.s, graph.ModeGlobal)
		k.ok(err)
		_, _ = driver.Alloc[byte](k.c, 64)
		if status, _, err := r.Scope().Status(); err != nil || status != cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED {
			k.Errorf("status %v, %v", status, err)
		}
		if _, err := graph.Begin(k.s, graph.ModeGlobal); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) {
			k.Errorf("another capture before the end: %v", err)
		}
		if err := r.Abort(); !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Errorf("Abort: %v", err)
		}
		again, err := graph.Begin(k.s, graph.ModeGlobal)
		k.ok(err)
		k.ok(again.Abort())
		k.usable(k.s)
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

// A list with every kind of operation that can be captured gives the same nodes in
// the same order, and the same results, by capture and by hand.
func TestRecordGivesTheSameEitherWay(t *testing.T) {
	each(t, func(k *kit) {
		var shown []string
		for _, make := range []func(ops ...driver.Op) (*graph.Graph, error){
			func(ops ...driver.Op) (*graph.Graph, error) { return graphOf(k.s, ops...) },
			func(ops ...driver.Op) (*graph.Graph, error) { return sequence(k.c, ops...) },
		} {
			shown = append(shown, k.madeOf(make, k.everyKind()))
		}
		if shown[0] != shown[1] {
			k.Errorf("by capture and by hand differ:\n%s\n%s", shown[0], shown[1])
		}
	})
}

// A capture would take events for orders between streams. A list that is added by hand records them
// in each replay.
func TestRecordedEventsHappenInReplays(t *testing.T) {
	each(t, func(k *kit) {
		l := k.everyKind()
		l.ops = append(l.ops, driver.RecordOp(l.event), driver.WaitOp(l.event))
		k.madeOf(func(ops ...driver.Op) (*graph.Graph, error) { return sequence(k.c, ops...) }, l)
		if done, err := l.event.Query(); err != nil || !done {
			k.Errorf("the event has happened: %v, %v", done, err)
		}
	})
}

// madeOf runs a graph of a list twice and says what it is and did.
func (k *kit) madeOf(make func(...driver.Op) (*graph.Graph, error), l *everyKind) string {
	k.Helper()
	g, err := make(l.ops...)
	k.ok(err)
	k.closeLater(g)
	x := k.exec(g)
	k.run(x)
	k.run(x)
	return k.sorts(g) + l.result()
}

// everyKind is a list of operations and what they change.
type everyKind struct {
	*kit
	ops     []driver.Op
	a, b, c *driver.Buffer[uint32]
	host    *driver.HostBuffer[uint32]
	event   *driver.Event
	calls   int
}

func (k *kit) everyKind() *everyKind {
	l := &everyKind{kit: k, a: k.memory(), b: k.memory(), c: k.memory(), event: k.event()}
	var err error
	l.host, err = driver.AllocHost[uint32](k.c, elems)
	k.ok(err)
	k.closeLater(l.host)
	for i := range l.host.Slice() {
		l.host.Slice()[i] = uint32(i)
	}
	l.ops = []driver.Op{
		op[*driver.CopyOp](k)(driver.Upload[uint32](l.a, l.host)),
		k.launch(k.plus, l.a, 3),
		op[*driver.FillOp](k)(driver.Fill[uint32](l.b, 5)),
		op[*driver.FillOp](k)(driver.Fill2D[uint32](l.c, 7, 16, 4, 2)),
		op[*driver.CopyOp](k)(driver.Copy2D(driver.Region{Memory: l.c, Pitch: 32}, driver.Region{Memory: l.a, Pitch: 64}, 8, 2)),
		op[*driver.MemOp](k)(driver.NewMemOp(k.c, driver.WriteWord[uint32](l.b, 3, 99, 0))),
		op[*driver.CopyOp](k)(driver.CopyDevice[uint32](l.b.View(8, 16), l.a.View(0, 8))),
		k.launch(k.times, l.b, 2),
		op[*driver.HostFunc](k)(driver.NewHostFunc(k.c, func() { l.calls++ })),
		op[*driver.CopyOp](k)(driver.Download[uint32](l.host, l.b)),
	}
	return l
}

// result is all that the operations change.
func (l *everyKind) result() string {
	l.Helper()
	out := fmt.Sprintf("calls %d, host %v", l.calls, l.host.Slice())
	for _, b := range []*driver.Buffer[uint32]{l.a, l.b, l.c} {
		got := make([]uint32, b.Len())
		l.ok(b.CopyTo(got))
		out += fmt.Sprint("\n", got)
	}
	return out
}

// sorts lists what the nodes do, each after those before it.
func (k *kit) sorts(g *graph.Graph) (list string) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.ok(err)
		kind, err := n.Type()
		k.ok(err)
		before, err := n.Dependencies()
		k.ok(err)
		list += fmt.Sprintf("%v after %v, ", kind, before)
	}
	return list + "\n"
}
