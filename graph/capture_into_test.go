package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCaptureIntoAGraphRunsBehindTheDependencies(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range modes {
			b := k.memory()
			g := k.graph()
			first := k.add(g, k.launch(k.plus, b, 2))
			last, err := intoGraph(g, k.s, mode, []graph.Node{first}, func(sc *graph.Scope) error {
				return errors.Join(sc.Do(k.launch(k.times, b, 5)), sc.Do(k.launch(k.plus, b, 1)))
			})
			k.ok(err)
			if len(last) != 1 || last[0].Graph() != g || last[0] == first {
				k.Fatalf("%v: last nodes %v", mode, last)
			}
			k.add(g, k.launch(k.times, b, 3), last...)
			k.expect(b, 1)
			k.run(k.exec(g))
			k.expect(b, 48) // ((1+2)*5+1)*3
			k.usable(k.s)
		}
	})
}

func TestCaptureIntoAGraphWithoutWorkGoesOnFromTheDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		last, err := intoGraph(g, k.s, graph.ModeThreadLocal, []graph.Node{first}, func(*graph.Scope) error { return nil })
		k.ok(err)
		if !slices.Equal(last, []graph.Node{first}) {
			k.Errorf("last nodes %v, want %v", last, first)
		}
	})
}

// A graph is as it was when the function that records into it fails.
func TestCaptureIntoAGraphIsUndoneWhenTheFunctionFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		var added graph.Node
		last, err := intoGraph(g, k.s, graph.ModeGlobal, []graph.Node{first}, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.times, b, 5)))
			inside, err := sc.Graph()
			k.ok(err)
			added = k.add(inside, k.launch(k.times, b, 7), first)
			return errRecord
		})
		if err != errRecord || last != nil {
			k.Fatalf("got %v, %v", last, err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want the one from before", n, err)
		}
		if _, err := added.Type(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a node that went with the capture: %v", err)
		}
		k.run(k.exec(g))
		k.expect(b, 3)
		k.usable(k.s)
	})
}

// CUDA destroys a graph when a capture into it is invalidated.
func TestCaptureIntoAGraphThatIsInvalidatedDestroysIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		x := k.exec(g)
		_, err := intoGraph(g, k.s, graph.ModeGlobal, nil, func(sc *graph.Scope) error {
			_, _ = driver.Alloc[byte](k.c, 64)
			return sc.Do(k.launch(k.plus, b, 1))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
			k.Errorf("got %v, want 901 that names cuMemAlloc", err)
		}
		for what, err := range map[string]error{
			"Add": second(g.Add(k.launch(k.plus, b, 1))), "Len": second(g.Len()), "Type": second(first.Type()),
			"Instantiate": second(g.Instantiate()),
		} {
			if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "capture_into_test.go") {
				k.Errorf("%s: %v, want a refusal that names this file", what, err)
			}
		}
		k.ok(g.Close())
		k.usable(k.s)
		k.run(x) // which was made before
		k.expect(b, 3)
	})
}

// What the program forgot to join does not cost it the graph.
func TestCaptureIntoAGraphIsUndoneWhenAStreamIsNotJoined(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		_, err := intoGraph(g, k.s, graph.ModeGlobal, []graph.Node{first}, func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.ok(err)
			return f.Do(k.launch(k.times, b, 5))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) || !strings.Contains(err.Error(), other.String()) {
			k.Errorf("got %v, want 904 that names %v", err, other)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want the one from before", n, err)
		}
		k.usable(k.s)
		k.usable(other)
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

func TestBeginIntoAGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		first := k.add(g, k.launch(k.plus, b, 2))
		var last []graph.Node
		r, err := graph.Begin(k.s, graph.ModeThreadLocal, graph.WithTarget(g, first), graph.WithLast(&last))
		k.ok(err)
		defer r.Abort()
		k.ok(r.Scope().Do(k.launch(k.times, b, 5)))
		for what, err := range map[string]error{
			"Close": g.Close(), "Destroy": first.Destroy(),
			"BeginInto": second(beginInto(g, k.stream(), graph.ModeThreadLocal)),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) || !strings.Contains(err.Error(), "capture_into_test.go") {
				k.Errorf("%s during the capture: %v, want a refusal that names this file", what, err)
			}
		}
		same, err := r.End()
		k.ok(err)
		if same != g || len(last) != 1 {
			k.Errorf("got %v, %v", same, last)
		}
		k.run(k.exec(g))
		k.expect(b, 15)
	})
}

func TestCaptureIntoAGraphInANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n, inner, deps := k.inNode(g, k.launch(k.plus, b, 1))
		last, err := intoGraph(inner, k.s, graph.ModeThreadLocal, deps, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(k.launch(k.times, b, 6)), sc.Do(k.launch(k.plus, b, 1)))
		})
		k.ok(err)
		k.add(inner, k.launch(k.times, b, 2), last...)
		if _, err := beginInto(inner, k.s, graph.ModeRelaxed); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("BeginInto: %v", err)
		}
		k.run(k.exec(g))
		k.expect(b, 26)
		k.ok(n.Destroy())
		if _, err := intoGraph(inner, k.s, graph.ModeRelaxed, nil, func(*graph.Scope) error { return nil }); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("into a graph that is gone: %v", err)
		}
	})
}

// inNode returns a child graph node of g, the graph in it and the node of that.
func (k *kit) inNode(g *graph.Graph, op driver.Op) (graph.Node, *graph.Graph, []graph.Node) {
	k.Helper()
	child := k.graph()
	k.add(child, op)
	n, err := g.AddChild(child)
	k.ok(err)
	inner, err := n.ChildGraph()
	k.ok(err)
	var nodes []graph.Node
	for n, err := range inner.Nodes() {
		k.ok(err)
		nodes = append(nodes, n)
	}
	return n, inner, nodes
}

// CUDA removes no node from a graph with memory nodes.
func TestCaptureIntoAGraphSaysWhatItCannotUndo(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		_, err := intoGraph(g, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			var p driver.CUdeviceptr
			k.ok(k.c.Driver().CuMemAllocAsync(&p, 64, sc.Stream().Raw()))
			return errRecord
		})
		if !errors.Is(err, errRecord) || !strings.HasPrefix(err.Error(), errRecord.Error()) || !strings.Contains(err.Error(), "stays") {
			k.Errorf("got %v, want the function's error, and that the nodes stay", err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
		k.usable(k.s)
	})
}

// The graph in a node, and the one around it, survive what destroys others.
func TestCaptureIntoAGraphInANodeThatFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		_, inner, deps := k.inNode(g, k.launch(k.plus, b, 1))
		_, err := intoGraph(inner, k.s, graph.ModeGlobal, deps, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.times, b, 6)))
			_, err := driver.Alloc[byte](k.c, 64)
			return err
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestCaptureIntoRefusesWrongGraphs(t *testing.T) {
	each(t, func(k *kit) {
		nothing := func(*graph.Scope) error { return nil }
		shut := k.graph()
		k.ok(shut.Close())
		g, other := k.graph(), k.graph()
		n, err := other.AddEmpty()
		k.ok(err)
		c := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := graph.New(c)
		k.ok(err)
		k.closeLater(far)
		for _, wrong := range []struct {
			what string
			g    *graph.Graph
			deps []graph.Node
			want error
		}{
			{"nil", nil, nil, driver.CUDA_ERROR_INVALID_VALUE},
			{"closed", shut, nil, driver.ErrClosed},
			{"a node of another graph", g, []graph.Node{n}, driver.CUDA_ERROR_INVALID_VALUE},
			{"no node", g, make([]graph.Node, 1), driver.CUDA_ERROR_INVALID_VALUE},
			{"another driver", far, nil, driver.CUDA_ERROR_INVALID_VALUE},
		} {
			if _, err := intoGraph(wrong.g, k.s, graph.ModeGlobal, wrong.deps, nothing); !errors.Is(err, wrong.want) {
				k.Errorf("%s: %v, want %v", wrong.what, err, wrong.want)
			}
		}
		if _, err := intoGraph(g, k.s, graph.ModeGlobal, nil, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("nil function: %v", err)
		}
		k.usable(k.s)
	})
}

func TestCaptureIntoNeedsCUDA123(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		g := k.graph()
		_, err := intoGraph(g, k.s, graph.ModeGlobal, nil, func(*graph.Scope) error { return nil })
		if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "12.3") || !strings.Contains(err.Error(), g.String()) {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
	})
}

// What is in the way of a capture into a body is said of the body, before
// anything is recorded.
func TestCaptureIntoABodyNamesIt(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		_, body, err := g.AddIf(k.cond(g, graph.WithDefault(1)))
		k.ok(err)
		s, err := k.c.NewStream()
		k.ok(err)
		k.ok(s.Close())
		_, err = intoGraph(body, s, graph.ModeThreadLocal, nil, func(*graph.Scope) error {
			k.Error("recorded on a closed stream")
			return nil
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "into "+body.String()) {
			k.Errorf("got %v", err)
		}
	})
}

// Nodes may be added by hand while a capture is open, and what is recorded
// afterwards may run behind them.
func TestNodesAddedByHandDuringACapture(t *testing.T) {
	each(t, byHandInside)
}

func TestNodesAddedByHandDuringACaptureOnOlderDrivers(t *testing.T) {
	for _, version := range []int{11040, 12020, 12030} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				byHandInside(newKit(t, c))
			})
		})
	}
}

func byHandInside(k *kit) {
	for _, mode := range modes {
		b := k.memory()
		var inside *graph.Graph
		var byHand graph.Node
		g, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 2)))
			before, err := sc.Dependencies()
			k.ok(err)
			inside, err = sc.Graph()
			k.ok(err)
			byHand = k.add(inside, k.launch(k.times, b, 5), froms(before)...)
			k.ok(sc.SetDependencies(after(byHand)...))
			deps, err := sc.Dependencies()
			k.ok(err)
			if !slices.Equal(deps, after(byHand)) {
				k.Errorf("%v: dependencies %v after SetDependencies(%v)", mode, deps, byHand)
			}
			return sc.Do(k.launch(k.plus, b, 1))
		})
		k.ok(err)
		k.closeLater(g)
		if g != inside || byHand.Graph() != g {
			k.Errorf("%v: the capture returned %v, inside it was %v", mode, g, inside)
		}
		k.expect(b, 1)
		k.run(k.exec(g))
		k.expect(b, 16) // (1+2)*5+1
		k.ok(byHand.Set(k.launch(k.times, b, 2)))
		k.run(k.exec(g))
		k.expect(b, 37)
	}
}

func TestAddDependenciesJoinsWhatWasAddedByHand(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.memory(), k.memory(), k.memory()
		sum, err := k.sum.Prepare(config, d, a, b, uint32(elems))
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.ok(err)
			n := k.add(inside, k.launch(k.plus, a, 9))
			k.ok(sc.Do(k.launch(k.plus, b, 4)))
			k.ok(alsoAfter(sc, n, n))
			deps, err := sc.Dependencies()
			k.ok(err)
			if len(deps) != 2 || !slices.Contains(froms(deps), n) {
				k.Errorf("dependencies %v", deps)
			}
			return sc.Do(sum)
		})
		k.run(k.exec(g))
		k.expect(d, 15)
	})
}

// What the program gives to a node by hand lives as long as the graph, as does
// what was recorded before the graph was asked for.
func TestGraphDuringACaptureKeepsThingsAlive(t *testing.T) {
	each(t, func(k *kit) {
		out := k.memory()
		one, two, three := k.memoryOf(10), k.memoryOf(20), k.memoryOf(30)
		add := func(b *driver.Buffer[uint32]) *driver.Launch {
			l, err := k.sum.Prepare(config, out, out, b, uint32(elems))
			k.ok(err)
			return l
		}
		ops := []*driver.Launch{add(one), add(two), add(three)}
		g := k.capture(func(sc *graph.Scope) error {
			k.ok(sc.Do(ops[0]))
			inside, err := sc.Graph()
			k.ok(err)
			deps, err := sc.Dependencies()
			k.ok(err)
			k.ok(sc.SetDependencies(after(k.add(inside, ops[1], froms(deps)...))...))
			return sc.Do(ops[2])
		})
		k.ok(errors.Join(one.Close(), two.Close(), three.Close()))
		k.closeLater(k.memoryOf(1000))
		k.run(k.exec(g))
		k.expect(out, 61)
	})
}

func TestGraphOfAFailedCaptureIsClosed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		for name, fail := range map[string]func() error{
			"error":       func() error { return errRecord },
			"invalidated": func() error { _, err := driver.Alloc[byte](k.c, 64); return err },
		} {
			var inside *graph.Graph
			_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
				k.ok(sc.Do(k.launch(k.plus, b, 1)))
				var err error
				inside, err = sc.Graph()
				k.ok(err)
				k.add(inside, k.launch(k.plus, b, 1))
				return fail()
			})
			if err == nil {
				k.Errorf("%s: no error", name)
			}
			if _, err := inside.AddEmpty(); !errors.Is(err, driver.ErrClosed) {
				k.Errorf("%s: its graph: %v, want ErrClosed", name, err)
			}
			k.ok(inside.Close())
			k.usable(k.s)
		}
	})
}

// The driver may destroy the graph of an invalidated capture before its end: it
// is not touched any more.
func TestGraphOfAnInvalidatedCaptureIsRefusedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		_, err := graph.Capture(k.s, graph.ModeGlobal, func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.ok(err)
			_, _ = driver.Alloc[byte](k.c, 64)
			_, add := inside.AddEmpty()
			_, deps := sc.Dependencies()
			set := sc.SetDependencies()
			for what, err := range map[string]error{"AddEmpty": add, "Dependencies": deps, "SetDependencies": set} {
				if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
					k.Errorf("%s: %v, want 901 that names cuMemAlloc", what, err)
				}
			}
			return nil
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
	})
}

func TestDependenciesRefuseNodesOfOtherGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		far, err := k.graph().AddEmpty()
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			for what, err := range map[string]error{
				"another graph's": sc.SetDependencies(after(far)...), "none": alsoAfter(sc, graph.Node{}),
			} {
				if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("%s: %v", what, err)
				}
			}
			return sc.Do(k.launch(k.plus, b, 1))
		})
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestGraphAndDependenciesAreRefusedAfterTheCapture(t *testing.T) {
	each(t, func(k *kit) {
		var kept *graph.Scope
		k.capture(func(sc *graph.Scope) error {
			kept = sc
			return nil
		})
		for what, err := range map[string]error{
			"Graph": second(kept.Graph()), "Dependencies": second(kept.Dependencies()),
			"SetDependencies": kept.SetDependencies(), "AddDependencies": alsoAfter(kept),
		} {
			if !errors.Is(err, graph.ErrEnded) {
				k.Errorf("%s: %v, want ErrEnded", what, err)
			}
		}
	})
}

// Code that has a stream alone finds the capture that has it, to record and to keep
// things alive.
func TestScopeOfIsTheCaptureThatHasTheStream(t *testing.T) {
	each(t, func(k *kit) {
		other, apart := k.stream(), k.stream()
		b := k.memoryOf(1)
		var late *graph.Scope
		none := func(s *driver.Stream) {
			k.Helper()
			if sc, ok := graph.ScopeOf(s); ok || sc != nil {
				t.Errorf("%v is in a capture", s)
			}
		}
		g := k.capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.ok(err)
			for _, s := range []*driver.Stream{k.s, other} {
				found, ok := graph.ScopeOf(s)
				if !ok || found.Stream() != s {
					t.Fatalf("no scope of %v", s)
				}
				k.ok(found.Keep(b.Ref()))
				late = found
			}
			k.ok(late.Do(k.launch(k.plus, b, 4))) // on the fork, so it has to be joined
			none(apart)
			none(nil)
			return sc.Join(f)
		})
		none(k.s)
		if err := late.Keep(b.Ref()); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("a scope after its capture: %v", err)
		}
		x := k.exec(g)
		k.ok(b.Close())
		if b.Ref().Lifetime().Ended() {
			t.Error("the graph does not keep what it was told to")
		}
		k.run(x)
	})
}
