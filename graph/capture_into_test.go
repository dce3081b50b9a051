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
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestCaptureIntoAGraphRunsAfterTheDependencies(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range graphtest.Modes {
			b := k.Memory()
			g := k.Graph()
			first := k.Add(g, k.Launch(k.Plus, b, 2))
			last, err := graphtest.CaptureInto(g, k.S, mode, []graph.Node{first}, func(sc *graph.Scope) error {
				return errors.Join(sc.Do(k.Launch(k.Times, b, 5)), sc.Do(k.Launch(k.Plus, b, 1)))
			})
			k.OK(err)
			if len(last) != 1 || last[0].Graph() != g || last[0] == first {
				k.Fatalf("%v: last nodes %v", mode, last)
			}
			k.Add(g, k.Launch(k.Times, b, 3), last...)
			k.Expect(b, 1)
			k.Run(k.Exec(g))
			k.Expect(b, 48) // ((1+2)*5+1)*3
			k.Usable(k.S)
		}
	})
}

func TestCaptureIntoAGraphWithoutWorkGoesOnFromTheDependencies(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		last, err := graphtest.CaptureInto(g, k.S, graph.ModeThreadLocal, []graph.Node{first}, func(*graph.Scope) error { return nil })
		k.OK(err)
		if !slices.Equal(last, []graph.Node{first}) {
			k.Errorf("last nodes %v, want %v", last, first)
		}
	})
}

func TestCaptureIntoAGraphIsUndoneWhenTheFunctionFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		var added graph.Node
		last, err := graphtest.CaptureInto(g, k.S, graph.ModeGlobal, []graph.Node{first}, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Times, b, 5)))
			inside, err := sc.Graph()
			k.OK(err)
			added = k.Add(inside, k.Launch(k.Times, b, 7), first)
			return graphtest.ErrRecord
		})
		if err != graphtest.ErrRecord || last != nil {
			k.Fatalf("got %v, %v", last, err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want the one from before", n, err)
		}
		if _, err := added.Type(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a node that went with the capture: %v", err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 3)
		k.Usable(k.S)
	})
}

func TestCaptureIntoAGraphThatIsInvalidatedDestroysIt(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		x := k.Exec(g)
		_, err := graphtest.CaptureInto(g, k.S, graph.ModeGlobal, nil, func(sc *graph.Scope) error {
			_, _ = driver.Alloc[byte](k.C, 64)
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) || !strings.Contains(err.Error(), "cuMemAlloc") {
			k.Errorf("got %v, want 901 that names cuMemAlloc", err)
		}
		for what, err := range map[string]error{
			"Add": graphtest.Second(g.Add(k.Launch(k.Plus, b, 1))), "Len": graphtest.Second(g.Len()), "Type": graphtest.Second(first.Type()),
			"Instantiate": graphtest.Second(g.Instantiate()),
		} {
			if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "capture_into_test.go") {
				k.Errorf("%s: %v, want a refusal that names this file", what, err)
			}
		}
		k.OK(g.Close())
		k.Usable(k.S)
		k.Run(x) // instantiated before the graph was destroyed
		k.Expect(b, 3)
	})
}

// If the program does not join a forked stream, its graph must survive.
func TestCaptureIntoAGraphIsUndoneWhenAStreamIsNotJoined(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		_, err := graphtest.CaptureInto(g, k.S, graph.ModeGlobal, []graph.Node{first}, func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			return f.Do(k.Launch(k.Times, b, 5))
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) || !strings.Contains(err.Error(), other.String()) {
			k.Errorf("got %v, want 904 that names %v", err, other)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes (%v), want the one from before", n, err)
		}
		k.Usable(k.S)
		k.Usable(other)
		k.Run(k.Exec(g))
		k.Expect(b, 3)
	})
}

func TestBeginIntoAGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 2))
		var last []graph.Node
		r, err := graph.Begin(k.S, graph.ModeThreadLocal, graph.WithTarget(g, first), graph.WithLast(&last))
		k.OK(err)
		defer r.Abort()
		k.OK(r.Scope().Do(k.Launch(k.Times, b, 5)))
		for what, err := range map[string]error{
			"Close": g.Close(), "Destroy": first.Destroy(),
			"BeginInto": graphtest.Second(graphtest.BeginInto(g, k.Stream(), graph.ModeThreadLocal)),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_STATE) || !strings.Contains(err.Error(), "capture_into_test.go") {
				k.Errorf("%s during the capture: %v, want a refusal that names this file", what, err)
			}
		}
		same, err := r.End()
		k.OK(err)
		if same != g || len(last) != 1 {
			k.Errorf("got %v, %v", same, last)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 15)
	})
}

func TestCaptureIntoAGraphInANode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n, inner, deps := k.inNode(g, k.Launch(k.Plus, b, 1))
		last, err := graphtest.CaptureInto(inner, k.S, graph.ModeThreadLocal, deps, func(sc *graph.Scope) error {
			return errors.Join(sc.Do(k.Launch(k.Times, b, 6)), sc.Do(k.Launch(k.Plus, b, 1)))
		})
		k.OK(err)
		k.Add(inner, k.Launch(k.Times, b, 2), last...)
		if _, err := graphtest.BeginInto(inner, k.S, graph.ModeRelaxed); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("BeginInto: %v", err)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 26)
		k.OK(n.Destroy())
		if _, err := graphtest.CaptureInto(inner, k.S, graph.ModeRelaxed, nil, func(*graph.Scope) error { return nil }); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("into a graph that is gone: %v", err)
		}
	})
}

// inNode adds a child graph node to g. It returns the node, the nested graph and a node in the
// nested graph.
func (k *kit) inNode(g *graph.Graph, op driver.Op) (graph.Node, *graph.Graph, []graph.Node) {
	k.Helper()
	child := k.Graph()
	k.Add(child, op)
	n, err := g.AddChild(child)
	k.OK(err)
	inner, err := n.ChildGraph()
	k.OK(err)
	var nodes []graph.Node
	for n, err := range inner.Nodes() {
		k.OK(err)
		nodes = append(nodes, n)
	}
	return n, inner, nodes
}

// CUDA cannot remove nodes from a graph with memory nodes, so the recorded work stays and the error
// must say so.
func TestCaptureIntoAGraphSaysWhatItCannotUndo(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		_, err := graphtest.CaptureInto(g, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			var p driver.CUdeviceptr
			k.OK(k.C.Driver().CuMemAllocAsync(&p, 64, sc.Stream().Raw()))
			return graphtest.ErrRecord
		})
		if !errors.Is(err, graphtest.ErrRecord) || !strings.HasPrefix(err.Error(), graphtest.ErrRecord.Error()) || !strings.Contains(err.Error(), "stays") {
			k.Errorf("got %v, want the function's error, and that the nodes stay", err)
		}
		if n, err := g.Len(); n != 1 || err != nil {
			k.Errorf("%d nodes, %v", n, err)
		}
		k.Usable(k.S)
	})
}

// A failed capture into a graph nested in a node must leave both that graph and the outer graph
// intact. For other target graphs, CUDA destroys the graph.
func TestCaptureIntoAGraphInANodeThatFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		_, inner, deps := k.inNode(g, k.Launch(k.Plus, b, 1))
		_, err := graphtest.CaptureInto(inner, k.S, graph.ModeGlobal, deps, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Times, b, 6)))
			_, err := driver.Alloc[byte](k.C, 64)
			return err
		})
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
			k.Errorf("got %v", err)
		}
		k.Usable(k.S)
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestCaptureIntoRefusesWrongGraphs(t *testing.T) {
	each(t, func(k *kit) {
		nothing := func(*graph.Scope) error { return nil }
		shut := k.Graph()
		k.OK(shut.Close())
		g, other := k.Graph(), k.Graph()
		n, err := other.AddEmpty()
		k.OK(err)
		c := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := graph.New(c)
		k.OK(err)
		k.CloseLater(far)
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
			if _, err := graphtest.CaptureInto(wrong.g, k.S, graph.ModeGlobal, wrong.deps, nothing); !errors.Is(err, wrong.want) {
				k.Errorf("%s: %v, want %v", wrong.what, err, wrong.want)
			}
		}
		if _, err := graphtest.CaptureInto(g, k.S, graph.ModeGlobal, nil, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("nil function: %v", err)
		}
		k.Usable(k.S)
	})
}

func TestCaptureIntoNeedsCUDA123(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12020}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		g := k.Graph()
		_, err := graphtest.CaptureInto(g, k.S, graph.ModeGlobal, nil, func(*graph.Scope) error { return nil })
		if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "12.3") || !strings.Contains(err.Error(), g.String()) {
			k.Errorf("got %v", err)
		}
		k.Usable(k.S)
	})
}

// If a capture into a body cannot begin, the error must name the body, and nothing may be recorded.
func TestCaptureIntoABodyNamesIt(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		_, body, err := g.AddIf(k.Cond(g, graph.WithDefault(1)))
		k.OK(err)
		s, err := k.C.NewStream()
		k.OK(err)
		k.OK(s.Close())
		_, err = graphtest.CaptureInto(body, s, graph.ModeThreadLocal, nil, func(*graph.Scope) error {
			k.Error("recorded on a closed stream")
			return nil
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "into "+body.String()) {
			k.Errorf("got %v", err)
		}
	})
}

// While a capture is open, a program may add nodes directly and order later recorded work after
// them.
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
	for _, mode := range graphtest.Modes {
		b := k.Memory()
		var inside *graph.Graph
		var byHand graph.Node
		g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 2)))
			before, err := sc.Dependencies()
			k.OK(err)
			inside, err = sc.Graph()
			k.OK(err)
			byHand = k.Add(inside, k.Launch(k.Times, b, 5), graphtest.Froms(before)...)
			k.OK(sc.SetDependencies(graphtest.After(byHand)...))
			deps, err := sc.Dependencies()
			k.OK(err)
			if !slices.Equal(deps, graphtest.After(byHand)) {
				k.Errorf("%v: dependencies %v after SetDependencies(%v)", mode, deps, byHand)
			}
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		k.OK(err)
		k.CloseLater(g)
		if g != inside || byHand.Graph() != g {
			k.Errorf("%v: the capture returned %v, inside it was %v", mode, g, inside)
		}
		k.Expect(b, 1)
		k.Run(k.Exec(g))
		k.Expect(b, 16) // (1+2)*5+1
		k.OK(byHand.Set(k.Launch(k.Times, b, 2)))
		k.Run(k.Exec(g))
		k.Expect(b, 37)
	}
}

func TestAddDependenciesJoinsWhatWasAddedByHand(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d := k.Memory(), k.Memory(), k.Memory()
		sum, err := k.Sum.Prepare(config, d, a, b, uint32(elems))
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.OK(err)
			n := k.Add(inside, k.Launch(k.Plus, a, 9))
			k.OK(sc.Do(k.Launch(k.Plus, b, 4)))
			k.OK(graphtest.AlsoAfter(sc, n, n))
			deps, err := sc.Dependencies()
			k.OK(err)
			if len(deps) != 2 || !slices.Contains(graphtest.Froms(deps), n) {
				k.Errorf("dependencies %v", deps)
			}
			return sc.Do(sum)
		})
		k.Run(k.Exec(g))
		k.Expect(d, 15)
	})
}

// The graph must retain the memory of nodes that the program adds directly, and of work recorded
// before the program obtained the graph.
func TestGraphDuringACaptureKeepsThingsAlive(t *testing.T) {
	each(t, func(k *kit) {
		out := k.Memory()
		one, two, three := k.MemoryOf(10), k.MemoryOf(20), k.MemoryOf(30)
		add := func(b *driver.Buffer[uint32]) *driver.Launch {
			l, err := k.Sum.Prepare(config, out, out, b, uint32(elems))
			k.OK(err)
			return l
		}
		ops := []*driver.Launch{add(one), add(two), add(three)}
		g := k.Capture(func(sc *graph.Scope) error {
			k.OK(sc.Do(ops[0]))
			inside, err := sc.Graph()
			k.OK(err)
			deps, err := sc.Dependencies()
			k.OK(err)
			k.OK(sc.SetDependencies(graphtest.After(k.Add(inside, ops[1], graphtest.Froms(deps)...))...))
			return sc.Do(ops[2])
		})
		k.OK(errors.Join(one.Close(), two.Close(), three.Close()))
		k.CloseLater(k.MemoryOf(1000))
		k.Run(k.Exec(g))
		k.Expect(out, 61)
	})
}

func TestGraphOfAFailedCaptureIsClosed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		for name, fail := range map[string]func() error{
			"error":       func() error { return graphtest.ErrRecord },
			"invalidated": func() error { _, err := driver.Alloc[byte](k.C, 64); return err },
		} {
			var inside *graph.Graph
			_, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
				k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
				var err error
				inside, err = sc.Graph()
				k.OK(err)
				k.Add(inside, k.Launch(k.Plus, b, 1))
				return fail()
			})
			if err == nil {
				k.Errorf("%s: no error", name)
			}
			if _, err := inside.AddEmpty(); !errors.Is(err, driver.ErrClosed) {
				k.Errorf("%s: its graph: %v, want ErrClosed", name, err)
			}
			k.OK(inside.Close())
			k.Usable(k.S)
		}
	})
}

// The driver may destroy the graph of an invalidated capture before the capture ends. So the
// library must reject every later use of the graph.
func TestGraphOfAnInvalidatedCaptureIsRefusedAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		_, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error {
			inside, err := sc.Graph()
			k.OK(err)
			_, _ = driver.Alloc[byte](k.C, 64)
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
		k.Usable(k.S)
	})
}

func TestDependenciesRefuseNodesOfOtherGraphs(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		far, err := k.Graph().AddEmpty()
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			for what, err := range map[string]error{
				"another graph's": sc.SetDependencies(graphtest.After(far)...), "none": graphtest.AlsoAfter(sc, graph.Node{}),
			} {
				if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					k.Errorf("%s: %v", what, err)
				}
			}
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestGraphAndDependenciesAreRefusedAfterTheCapture(t *testing.T) {
	each(t, func(k *kit) {
		var kept *graph.Scope
		k.Capture(func(sc *graph.Scope) error {
			kept = sc
			return nil
		})
		for what, err := range map[string]error{
			"Graph": graphtest.Second(kept.Graph()), "Dependencies": graphtest.Second(kept.Dependencies()),
			"SetDependencies": kept.SetDependencies(), "AddDependencies": graphtest.AlsoAfter(kept),
		} {
			if !errors.Is(err, graph.ErrEnded) {
				k.Errorf("%s: %v, want ErrEnded", what, err)
			}
		}
	})
}

// ScopeOf must find the capture of a stream, so that code which has only the stream can record and
// retain objects.
func TestScopeOfIsTheCaptureThatHasTheStream(t *testing.T) {
	each(t, func(k *kit) {
		other, apart := k.Stream(), k.Stream()
		b := k.MemoryOf(1)
		var late *graph.Scope
		none := func(s *driver.Stream) {
			k.Helper()
			if sc, ok := graph.ScopeOf(s); ok || sc != nil {
				t.Errorf("%v is in a capture", s)
			}
		}
		g := k.Capture(func(sc *graph.Scope) error {
			f, err := sc.Fork(other)
			k.OK(err)
			for _, s := range []*driver.Stream{k.S, other} {
				found, ok := graph.ScopeOf(s)
				if !ok || found.Stream() != s {
					t.Fatalf("no scope of %v", s)
				}
				k.OK(found.Keep(b.Ref()))
				late = found
			}
			k.OK(late.Do(k.Launch(k.Plus, b, 4))) // the launch runs on the forked stream, so that stream must be joined
			none(apart)
			none(nil)
			return sc.Join(f)
		})
		none(k.S)
		if err := late.Keep(b.Ref()); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("a scope after its capture: %v", err)
		}
		x := k.Exec(g)
		k.OK(b.Close())
		if b.Ref().Lifetime().Ended() {
			t.Error("the graph does not retain what it was given")
		}
		k.Run(x)
	})
}
