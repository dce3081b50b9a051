package arena_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// ways are the ways to launch the second graph while the first is in flight on another stream.
// Each prepares its launch before the first graph runs: on driver 580 an instantiation can wait
// for work in flight, and the test blocks that work.
var ways = map[string]func(k *kit, m *member) func(s *driver.Stream) error{
	"launch": func(k *kit, m *member) func(s *driver.Stream) error { return launchOf(m.x) },
	"operation": func(k *kit, m *member) func(s *driver.Stream) error {
		return func(s *driver.Stream) error { return s.Do(m.x.Op()) }
	},
	"bindings without changes": func(k *kit, m *member) func(s *driver.Stream) error {
		return func(s *driver.Stream) error { return m.x.Bindings().Launch(s) }
	},
	"bindings": func(k *kit, m *member) func(s *driver.Stream) error {
		v, err := graph.Bind[uint32](m.x.Bindings(), m.node, m.l, 2)
		return func(s *driver.Stream) error { return errors.Join(err, v.Set(2), m.x.Bindings().Launch(s)) }
	},
	"after Set": func(k *kit, m *member) func(s *driver.Stream) error {
		return func(s *driver.Stream) error {
			return errors.Join(m.x.Set(m.node, k.Launch(k.Plus, m.in, 2)), m.x.Launch(s))
		}
	},
	"clone": func(k *kit, m *member) func(s *driver.Stream) error {
		g, err := m.x.Graph().Clone()
		k.OK(err)
		k.CloseLater(g)
		return launchOf(k.Exec(g))
	},
	"child": func(k *kit, m *member) func(s *driver.Stream) error {
		g := k.Graph()
		_, err := g.AddChild(m.x.Graph())
		k.OK(err)
		return launchOf(k.Exec(g))
	},
	"captured": func(k *kit, m *member) func(s *driver.Stream) error {
		return launchOf(k.Exec(k.Capture(func(sc *graph.Scope) error { return sc.Do(m.x.Op()) })))
	},
	// Driver 580 cannot update a copy of memory from cuMemAlloc to memory of an arena, which is mapped.
	"update": func(k *kit, m *member) func(s *driver.Stream) error {
		x := k.member(k.arena(), "of another arena", 1, 7).x
		r, err := x.Update(m.x.Graph())
		k.OK(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		return launchOf(x)
	},
	"reinstantiation": func(k *kit, m *member) func(s *driver.Stream) error {
		x := k.Exec(k.Graph())
		r, err := x.Update(m.x.Graph(), graph.WithReinstantiate())
		k.OK(err)
		if !r.Reinstantiated {
			k.Fatal(r)
		}
		return launchOf(x)
	},
	"borrowed": func(k *kit, m *member) func(s *driver.Stream) error {
		x, err := m.x.Graph().BorrowExec(m.x.Raw())
		k.OK(err)
		k.CloseLater(x)
		return launchOf(x)
	},
}

func launchOf(x *graph.Exec) func(s *driver.Stream) error {
	return func(s *driver.Stream) error { return x.Launch(s) }
}

// A launch must wait for the latest launch of another plan, whichever of the ways enqueues it.
// Without the wait, the second launch would end while the first is blocked.
func TestLaunchWaitsForTheOtherPlan(t *testing.T) {
	each(t, func(k *kit) {
		for name, prepare := range ways {
			_, first, second := k.pair()
			s := k.Stream()
			launch := prepare(k, second)
			release := k.blocked(k.S)
			k.OK(first.x.Launch(k.S))
			k.launchWaits(name, launch, s, release)
			k.Wait(s)
			k.Expect(first.out, 11)
			k.Expect(second.out, 22)
		}
	})
}

// launchWaits launches a graph and checks that the launch waits. It then releases the blocked
// work, even if the test fails, because the test's cleanup waits for the device.
func (k *kit) launchWaits(name string, launch func(*driver.Stream) error, s *driver.Stream, release func()) {
	k.Helper()
	defer release()
	k.OK(launch(s))
	k.waits(name, s)
}

// Driver 580 and the emulator reject an update that changes a copy's source from memory of
// cuMemAlloc to memory of an arena. A new instantiation must be possible, and must wait for its
// turn.
func TestUpdateFromOtherMemory(t *testing.T) {
	each(t, func(k *kit) {
		_, first, second := k.pair()
		other := k.memberWith(k.Memory(), 1, 7)
		x := other.x
		if r, err := x.Update(second.x.Graph()); err == nil && r.Updated() {
			k.Error("the update succeeded")
		}
		k.Run(x)
		k.Expect(other.out, 8) // x is unchanged
		r, err := x.Update(second.x.Graph(), graph.WithReinstantiate())
		k.OK(err)
		if !r.Reinstantiated {
			k.Error(r)
		}
		s := k.Stream()
		release := k.blocked(k.S)
		k.OK(first.x.Launch(k.S))
		k.launchWaits("after the reinstantiation", launchOf(x), s, release)
		k.Wait(s)
		k.Expect(second.out, 22)
	})
}

// The emulator must find no race between graphs that use the same addresses on two streams. The
// arena does not order launches by raw handle, so they must race. This shows that the test can
// fail.
func TestOrderPreventsRaces(t *testing.T) {
	for _, raw := range []bool{false, true} {
		if raw && graphtest.RaceDetector {
			continue // the emulator's copies race, and Go's race detector sees that
		}
		emu := emulator.New(emulator.Config{Check: emulator.CheckGlobalRaces})
		k := newKit(t, gputest.Context(t, gputest.Driver(t, emu)))
		_, first, second := k.pair()
		streams := []*driver.Stream{k.S, k.Stream(), k.Stream()}
		for i := range 12 {
			m, s := first, streams[i%3]
			if i%2 == 1 {
				m = second
			}
			if raw {
				k.OK(k.C.Driver().CuGraphLaunch(m.x.Raw(), s.Raw()))
			} else {
				k.OK(m.x.Launch(s))
			}
		}
		for _, s := range streams {
			k.Wait(s)
		}
		if found := emu.Findings(); (len(found) > 0) != raw {
			t.Errorf("by raw handle %v: %v", raw, found)
		}
	}
}

// On one stream, ordering must cost no driver call. On two streams, a launch must wait for an
// event, unless the other launch has ended.
func TestCallsOfALaunch(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	lib.Ignore("cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")
	_, first, second := k.pair()
	s := k.Stream()
	calls := func(m *member, s *driver.Stream) string {
		lib.Count()
		k.OK(m.x.Launch(s))
		var names []string
		for _, c := range lib.Stop() {
			names = append(names, c.Symbol)
		}
		return strings.Join(names, " ")
	}
	k.OK(first.x.Launch(k.S))
	k.OK(second.x.Launch(k.S))
	for range 3 {
		if got := calls(first, k.S); got != "cuGraphLaunch" {
			t.Errorf("on the same stream: %s", got)
		}
		if got := calls(second, k.S); got != "cuGraphLaunch" {
			t.Errorf("on the same stream: %s", got)
		}
	}
	release := k.blocked(k.S)
	k.OK(first.x.Launch(k.S))
	if got := calls(first, s); got != "cuGraphLaunch" {
		t.Errorf("the same graph on another stream: %s", got)
	}
	if got := calls(second, k.S); strings.Count(got, "cuStreamWaitEvent") != 1 {
		t.Errorf("on another stream: %s", got)
	}
	release()
	k.Wait(k.S)
	if got := calls(first, s); strings.Contains(got, "cuStreamWaitEvent") {
		t.Errorf("after the other launch has ended: %s", got)
	}
	k.Wait(s)
}

func TestRefusal(t *testing.T) {
	each(t, func(k *kit) {
		_, first, second := k.pair(arena.WithRefusal())
		s := k.Stream()
		release := k.blocked(k.S)
		k.OK(first.x.Launch(k.S))
		for _, launch := range []func() error{
			func() error { return second.x.Launch(s) },
			func() error { return second.x.Run(background, s) },
			func() error { return second.x.Bindings().Launch(s) },
		} {
			err := launch()
			var overlap *arena.OverlapError
			if !errors.As(err, &overlap) || overlap.Plan != "second" || overlap.Running != "first" {
				k.Errorf("got %v", err)
			}
			if !errors.Is(err, driver.CUDA_ERROR_NOT_READY) || !strings.Contains(err.Error(), `"first"`) || !strings.Contains(err.Error(), `"second"`) {
				k.Errorf("got %v", err)
			}
		}
		k.OK(first.x.Launch(s))  // CUDA orders launches of the same graph
		k.OK(second.x.Launch(s)) // on the same stream, launches cannot overlap
		release()
		k.Wait(s)
		k.OK(first.x.Launch(k.S)) // the other launch has ended
		k.Expect(first.out, 11)
		k.Expect(second.out, 22)
	})
}

// Staged operations must wait for the launch of another plan.
func TestStageWaitsForTheOtherPlan(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		first := k.member(a, "first", 10, 1)
		k.OK(first.p.Seal())
		p := k.plan(a, "second")
		in, out := k.alloc(p, elems), k.Memory()
		down, err := driver.CopyDevice(out, in)
		k.OK(err)
		g := k.Graph()
		k.Add(g, down)
		x := k.Exec(g)
		fill, err := driver.Fill(in, uint32(5))
		k.OK(err)
		s := k.Stream()
		release := k.blocked(k.S)
		k.OK(first.x.Launch(k.S))
		k.OK(x.Stage(s, fill))
		k.waits("staging", s)
		k.OK(x.Launch(s))
		release()
		k.Wait(s)
		k.Expect(first.out, 11)
		k.Expect(out, 5)
		release = k.blocked(s) // now the staged work is in flight
		k.OK(x.Stage(s, fill))
		k.OK(first.x.Launch(k.S))
		k.waits("after staged work", k.S)
		release()
		k.Wait(k.S)
	})
}

// Graphs that use memory of two arenas, and graphs of an arena WithDeviceLaunch, must be rejected.
func TestUnsupportedGraphs(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.arena(), k.arena()
		x, y := k.alloc(k.plan(a, "of a"), elems), k.alloc(k.plan(b, "of b"), elems)
		g := k.Graph()
		copied, err := driver.CopyDevice(x, y)
		k.OK(err)
		k.Add(g, copied)
		_, err = g.Instantiate()
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), `"of a"`) || !strings.Contains(err.Error(), `"of b"`) {
			k.Errorf("memory of two arenas: %v", err)
		}
		own := k.Graph()
		n := k.Add(own, k.Launch(k.Plus, x, 1))
		_, err = own.Instantiate(graph.WithDeviceLaunch())
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "arena") {
			k.Errorf("launched by kernels: %v", err)
		}
		z := k.Exec(own)
		k.OK(z.Set(n, k.Launch(k.Plus, y, 1)))
		k.OK(z.Launch(k.S)) // now it uses only b's memory
		k.Wait(k.S)
	})
}

// Memory that a graph uses only after Set or a bound parameter must tie the graph to its arena.
func TestMemoryThatIsSetLaterCounts(t *testing.T) {
	each(t, func(k *kit) {
		a := k.arena()
		first := k.member(a, "first", 10, 1)
		k.OK(first.p.Seal())
		in := k.alloc(k.plan(a, "second"), elems)
		for name, use := range map[string]func(x *graph.Exec, n graph.Node, l *driver.Launch, s *driver.Stream) error{
			"set": func(x *graph.Exec, n graph.Node, l *driver.Launch, s *driver.Stream) error {
				return errors.Join(x.Set(n, k.Launch(k.Plus, in, 1)), x.Launch(s))
			},
			"bindings": func(x *graph.Exec, n graph.Node, l *driver.Launch, s *driver.Stream) error {
				m, err := graph.Bind[*driver.Buffer[uint32]](x.Bindings(), n, l, 0)
				return errors.Join(err, x.Bindings().Launch(s), m.Set(in), x.Bindings().Launch(s))
			},
			"bindings of a launch": func(x *graph.Exec, n graph.Node, _ *driver.Launch, s *driver.Stream) error {
				_, err := graph.Bind[uint32](x.Bindings(), n, k.Launch(k.Plus, in, 3), 2)
				return errors.Join(err, x.Bindings().Launch(s))
			},
		} {
			l := k.Launch(k.Plus, k.Memory(), 1)
			g := k.Graph()
			n := k.Add(g, l)
			x := k.Exec(g)
			s := k.Stream()
			release := k.blocked(k.S)
			k.OK(first.x.Launch(k.S))
			k.OK(use(x, n, l, s))
			k.waits(name, s)
			release()
			k.Wait(s)
		}
	})
}

// In the steady state, launches must not allocate, even when streams alternate. The emulator itself
// allocates, so the test uses the GPU and a driver whose calls do nothing.
func TestLaunchesDoNotAllocate(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		noAllocations(newKit(t, gputest.Context(t, graphtest.NullDriver(t))), arena.WithoutMapping())
	})
	t.Run("gpu", func(t *testing.T) { noAllocations(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func noAllocations(k *kit, opts ...arena.Option) {
	k.Helper()
	_, first, second := k.pair(opts...)
	k.None("launches on one stream", func() {
		k.OK(first.x.Launch(k.S))
		k.OK(second.x.Launch(k.S))
	})
	k.Wait(k.S)
	s := k.Stream()
	k.None("launches on two streams", func() {
		k.OK(first.x.Launch(k.S))
		k.OK(second.x.Launch(s))
	})
	v, err := graph.Bind[uint32](second.x.Bindings(), second.node, second.l, 2)
	k.OK(err)
	i := uint32(0)
	k.None("bindings on two streams", func() {
		i++
		k.OK(first.x.Launch(k.S))
		k.OK(v.Set(i))
		k.OK(second.x.Bindings().Launch(s))
	})
	k.Wait(s)
}

// A failed launch may have recorded an event. Later launches in the same stream must nevertheless
// be ordered.
func TestLaunchAfterAFailedLaunchCounts(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	_, first, second := k.pair()
	s, ready := k.Stream(), k.blocked(k.S)
	k.OK(first.x.Launch(k.S))
	lib.FailCall("cuGraphLaunch", 1, uint32(graphtest.Injected))
	err := second.x.Launch(s)
	lib.Stop()
	if !errors.Is(err, graphtest.Injected) {
		t.Fatalf("got %v", err)
	}
	release := k.blocked(k.S)
	k.OK(first.x.Launch(k.S))
	k.OK(second.x.Launch(s))
	ready()
	k.waits("the second launch", s)
	release()
	k.Wait(s)
	k.Expect(first.out, 11)
	k.Expect(second.out, 22)
}
