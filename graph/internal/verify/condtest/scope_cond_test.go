package condtest_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

func eachMode(t *testing.T, test func(k *kit, mode graph.Mode)) {
	t.Helper()
	for name, mode := range graphtest.BodyModes {
		t.Run(name, func(t *testing.T) { each(t, func(k *kit) { test(k, mode) }) })
	}
}

func TestConditionalNodesAreCaptured(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		in, b, yes, no := k.Words(0), k.Memory(), k.Memory(), k.Memory()
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			k.OK(err)
			d, err := sc.NewCond()
			k.OK(err)
			e, err := sc.NewCond()
			k.OK(err)
			k.OK(sc.Do(k.Op(c.SetWhen(graph.When(in, graph.GreaterOrEqual, 1)))))
			k.OK(sc.Do(k.Op(d.SetWhen(graph.When(in, graph.Equal, 2)))))
			k.OK(sc.Do(k.Op(e.SetTo(in))))
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			k.OK(sc.If(c, graphtest.Does(k.Launch(k.Times, b, 10), k.Launch(k.Plus, b, 3))))
			k.OK(sc.IfElse(d, graphtest.Does(k.Launch(k.Plus, yes, 1)), graphtest.Does(k.Launch(k.Plus, no, 1))))
			k.OK(sc.Switch(e, nil, graphtest.Does(k.Launch(k.Times, yes, 100)), graphtest.Does(k.Launch(k.Times, no, 100))))
			return sc.Do(k.Launch(k.Times, b, 2))
		})
		x := k.Exec(g)
		k.Run(x)
		k.Expect(b, 4)
		k.OK(in.Fill(1))
		k.Run(x)
		k.Expect(b, 106)
		k.Expect(yes, 100)
		k.Expect(no, 3)
		k.OK(in.Fill(2))
		k.Run(x)
		k.Expect(yes, 101)
		k.Expect(no, 300)
		k.Usable(k.S)
	})
}

func TestNestedLoopIsCaptured(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		rows, columns, b := k.Words(0), k.Words(0), k.Memory()
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			outer, err := sc.NewCond()
			k.OK(err)
			over, err := outer.Within(rows, 4)
			k.OK(err)
			k.OK(sc.Do(k.Op(over.Start())))
			return sc.While(outer, func(row *graph.Scope) error {
				inner, err := row.NewCond()
				k.OK(err)
				within, err := inner.Within(columns, 5)
				k.OK(err)
				k.OK(row.Do(k.Op(within.Start())))
				k.OK(row.While(inner, func(cell *graph.Scope) error {
					k.OK(cell.Do(k.Launch(k.Plus, b, 1)))
					even, err := cell.NewCond()
					k.OK(err)
					k.OK(cell.Do(k.Op(even.SetWhen(graph.When(columns, graph.Equal, 2)))))
					k.OK(cell.If(even, graphtest.Does(k.Launch(k.Plus, b, 100))))
					return cell.Do(k.Op(within.Next()))
				}))
				return row.Do(k.Op(over.Next()))
			})
		})
		x := k.Exec(g)
		k.Run(x)
		k.Expect(b, 1+4*5+4*100)
		k.Run(x)
		k.Expect(b, 1+2*(4*5+4*100))
		k.want("rows", rows, 4)
	})
}

func TestForkInACapturedBody(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d, s := k.Memory(), k.Memory(), k.Memory(), k.Stream()
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, a, 1)))
				f, err := body.Fork(s)
				k.OK(err)
				k.OK(f.Do(k.Launch(k.Plus, b, 2)))
				k.OK(body.Do(k.Launch(k.Times, a, 3)))
				k.OK(body.Join(f))
				return body.Do(k.Op(k.Sum.Prepare(config, d, a, b, uint32(elems))))
			})
		})
		k.Run(k.Exec(g))
		k.Expect(d, 9)
		k.Usable(s)
	})
}

// A body must accept every kind of operation that CUDA allows in bodies.
func TestCapturedBodyOfCopiesFillsAndChildGraphs(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.MemoryOf(9)
		child := k.Graph()
		k.Add(child, k.Launch(k.Plus, a, 1))
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddIf(g, c)
		last, err := graphtest.CaptureInto(body, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			k.OK(sc.Do(graphtest.Op[*driver.FillOp](k.Kit)(driver.Fill[uint32](a, 5))))
			k.OK(sc.Do(graphtest.Op[*driver.CopyOp](k.Kit)(driver.CopyDevice[uint32](b.View(0, 16), a.View(16, 32)))))
			inner, err := sc.Graph()
			k.OK(err)
			deps, err := sc.Dependencies()
			k.OK(err)
			n, err := inner.AddChild(child, graphtest.Froms(deps)...)
			k.OK(err)
			k.OK(sc.SetDependencies(graphtest.After(n)...))
			return sc.Do(k.Launch(k.Times, a, 2))
		})
		k.OK(err)
		k.OK(b.Close())
		if len(last) != 1 || last[0].Graph() != body {
			k.Fatalf("the nodes to go on from are %v", last)
		}
		k.Add(body, k.Launch(k.Plus, a, 1), last...)
		if count, err := body.Len(); err != nil || count != 5 {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.Run(k.Exec(g))
		k.Expect(a, 13)
	})
}

func TestCaptureIntoABodyContinuesAfterItsNodes(t *testing.T) {
	each(t, func(k *kit) {
		a := k.Memory()
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddIf(g, c)
		first := k.Add(body, k.Launch(k.Plus, a, 1))
		last, err := graphtest.CaptureInto(body, k.S, graph.ModeRelaxed, []graph.Node{first}, graphtest.Does(k.Launch(k.Times, a, 5)))
		k.OK(err)
		_, err = graphtest.CaptureInto(body, k.S, graph.ModeRelaxed, last, graphtest.Does(k.Launch(k.Plus, a, 2)))
		k.OK(err)
		k.Run(k.Exec(g))
		k.Expect(a, 12)
		if _, err := graphtest.BeginInto(body, k.S, graph.ModeRelaxed); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("BeginInto a body: %v", err)
		}
	})
}

var errBody = errors.New("the body gave up")

// Whatever fails in a body, the outer capture must continue as if the conditional node had never
// been requested.
func TestFailureInABodyLeavesTheCaptureAround(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b := k.Memory()
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			fails := func(what string, want error, body func(*graph.Scope) error) {
				k.Helper()
				if err := sc.If(c, body); !errors.Is(err, want) {
					k.Errorf("%s: %v", what, err)
				}
			}
			fails("an error", errBody, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 100)))
				return errBody
			})
			fails("an error in a nested body", errBody, func(body *graph.Scope) error {
				d, err := body.NewCond(graph.WithDefault(1))
				k.OK(err)
				k.OK(body.If(d, graphtest.Does(k.Launch(k.Plus, b, 100))))
				return body.If(c, func(*graph.Scope) error { return errBody })
			})
			err = sc.IfElse(c, graphtest.Does(k.Launch(k.Plus, b, 100)), func(*graph.Scope) error { return errBody })
			if !errors.Is(err, errBody) {
				k.Errorf("an error in the second body: %v", err)
			}
			return errors.Join(sc.If(c, graphtest.Does(k.Launch(k.Plus, b, 1))), sc.Do(k.Launch(k.Times, b, 3)))
		})
		// No node uses the condition of the nested body.
		if _, err := k.graphOf(g); err == nil {
			k.Errorf("a graph with an unused condition was instantiated")
		}
		k.Usable(k.S)
	})
}

func TestInvalidatedBodyLeavesTheCaptureAround(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b, other := k.Memory(), k.Stream()
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			err = sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 100)))
				if err := body.Stream().Wait(background); err == nil {
					k.Errorf("a capturing stream was waited for")
				}
				return nil
			})
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) && !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
				k.Errorf("waiting in a body: %v", err)
			}
			err = sc.If(c, func(body *graph.Scope) error {
				f, err := body.Fork(other)
				k.OK(err)
				return f.Do(k.Launch(k.Plus, b, 100))
			})
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
				k.Errorf("a fork in a body that was not joined: %v", err)
			}
			return errors.Join(sc.If(c, graphtest.Does(k.Launch(k.Plus, b, 2))), sc.Do(k.Launch(k.Times, b, 3)))
		})
		k.Run(k.Exec(g))
		k.Expect(b, 12)
		k.Usable(k.S)
		k.Usable(other)
	})
}

func TestWhatABodyDoesNotTakeIsNamed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			if err := sc.If(c, graphtest.Does(k.Launch(k.Plus, b, 100), host)); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
				k.Errorf("a host function in a body: %v", err)
			}
			c, err = sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			return sc.If(c, graphtest.Does(k.Launch(k.Plus, b, 1)))
		})
		if count, err := g.Len(); err != nil || count != 1 {
			k.Errorf("%d nodes, %v", count, err)
		}
	})
}

func TestPanicAndGoexitInABodyEndBothCaptures(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b := k.Memory()
		record := func(end func()) func() {
			return func() {
				_, _ = graph.Capture(k.S, mode, func(sc *graph.Scope) error {
					c, err := sc.NewCond(graph.WithDefault(1))
					if err != nil {
						return err
					}
					return sc.While(c, func(body *graph.Scope) error {
						if err := body.Do(k.Launch(k.Plus, b, 1)); err != nil {
							return err
						}
						end()
						return nil
					})
				})
			}
		}
		if got := recovered(record(func() { panic("stop") })); got != "stop" {
			k.Errorf("recovered %v", got)
		}
		k.Usable(k.S)
		done := make(chan struct{})
		go func() {
			defer close(done)
			record(runtime.Goexit)()
		}()
		<-done
		k.Usable(k.S)
	})
}

func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestBadUseOfCapturedConditionals(t *testing.T) {
	each(t, func(k *kit) {
		other := k.Graph()
		foreign := k.Cond(other)
		b := k.Memory()
		var kept graph.Cond
		g := k.Capture(func(sc *graph.Scope) error {
			if err := sc.If(foreign, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a condition of another graph: %v", err)
			}
			if err := sc.If(graph.Cond{}, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("the zero condition: %v", err)
			}
			c, err := sc.NewCond(graph.WithDefault(0))
			k.OK(err)
			if err := sc.Switch(c); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a switch without bodies: %v", err)
			}
			k.OK(sc.If(c, nil))
			if err := sc.While(c, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a condition for two nodes: %v", err)
			}
			kept = c
			return sc.Do(k.Launch(k.Plus, b, 1))
		})
		if kept.Graph() != g {
			k.Errorf("the condition is of %v, not of %v", kept.Graph(), g)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestScopesOfBodiesEndWithThem(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(0))
			k.OK(err)
			var late *graph.Scope
			k.OK(sc.If(c, func(body *graph.Scope) error {
				late = body
				return nil
			}))
			if err := late.Do(k.Launch(k.Plus, b, 1)); !errors.Is(err, graph.ErrEnded) {
				k.Errorf("work in a body that has ended: %v", err)
			}
			return nil
		})
	})
}

// Whatever fails in the capture, the nested target graph must be unchanged.
func TestFailedCaptureIntoAGraphInANodeLeavesIt(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.Memory(), k.Stream()
		child, g := k.Graph(), k.Graph()
		k.Add(child, k.Launch(k.Plus, b, 1))
		n, err := g.AddChild(child)
		k.OK(err)
		inner, err := n.ChildGraph()
		k.OK(err)
		_, body := k.AddIf(g, k.Cond(g, graph.WithDefault(1)), n)
		k.Add(body, k.Launch(k.Times, b, 2))
		for _, into := range []*graph.Graph{inner, body} {
			_, err = graphtest.CaptureInto(into, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				k.OK(sc.Do(k.Launch(k.Plus, b, 100)))
				if err := sc.Stream().Wait(background); err == nil {
					k.Errorf("a capturing stream was waited for")
				}
				return nil
			})
			k.refused("an invalidated capture", err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
			_, err = graphtest.CaptureInto(into, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				f, err := sc.Fork(other)
				k.OK(err)
				return f.Do(k.Launch(k.Plus, b, 100))
			})
			k.refused("an unjoined capture", err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
			_, err = graphtest.CaptureInto(into, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				k.OK(sc.Do(k.Launch(k.Plus, b, 100)))
				return errBody
			})
			if !errors.Is(err, errBody) {
				k.Errorf("an error: %v", err)
			}
			if count, err := into.Len(); err != nil || count != 1 {
				k.Errorf("%d nodes, %v", count, err)
			}
		}
		k.Run(k.Exec(g))
		k.Expect(b, 4)
		k.Usable(k.S)
		k.Usable(other)
	})
}

func TestCapturedBodyKeepsEdgesAndAttributes(t *testing.T) {
	each(t, func(k *kit) {
		a, b, s := k.Memory(), k.Memory(), k.Stream()
		cfg := config
		cfg.Priority = -1
		together, err := k.Plus.Prepare(cfg, a, uint32(elems), uint32(1))
		k.OK(err)
		g := k.Graph()
		_, body := k.AddIf(g, k.Cond(g, graph.WithDefault(1)))
		last, err := graphtest.CaptureInto(body, k.S, graph.ModeRelaxed, nil, func(sc *graph.Scope) error {
			k.OK(sc.Do(together))
			f, err := sc.Fork(s)
			k.OK(err)
			k.OK(f.Do(k.Launch(k.Plus, b, 1)))
			k.OK(sc.Do(k.Launch(k.Times, a, 3)))
			return sc.Join(f)
		})
		k.OK(err)
		if len(last) != 2 {
			k.Errorf("the nodes to go on from are %v", last)
		}
		edges := 0
		for e, err := range body.Edges() {
			k.OK(err)
			if e.From.Graph() != body {
				k.Errorf("edge %v", e)
			}
			edges++
		}
		if edges != 2 {
			k.Errorf("%d edges", edges)
		}
		var v cu.CUlaunchAttributeValue
		for n, err := range body.Roots() {
			k.OK(err)
			k.OK(k.C.Driver().CuGraphKernelNodeGetAttribute(n.Raw(), cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v))
			if *v.Priority() != -1 {
				k.Errorf("the kernel has priority %d", *v.Priority())
			}
		}
		k.Run(k.Exec(g))
		k.Expect(a, 6)
		k.Expect(b, 2)
	})
}

func TestConditionalNodeOnAForkedStream(t *testing.T) {
	each(t, func(k *kit) {
		a, b, s := k.Memory(), k.Memory(), k.Stream()
		g := k.Capture(func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			f, err := sc.Fork(s)
			k.OK(err)
			c, err := f.NewCond(graph.WithDefault(1))
			k.OK(err)
			k.OK(f.If(c, graphtest.Does(k.Launch(k.Times, b, 5))))
			k.OK(sc.Do(k.Launch(k.Plus, a, 1)))
			k.OK(sc.Join(f))
			return sc.Do(graphtest.Op[*driver.Launch](k.Kit)(k.Sum.Prepare(config, a, a, b, uint32(elems))))
		})
		k.Run(k.Exec(g))
		k.Expect(a, 12)
	})
}

// Nodes added directly to a body during its recording must move into the conditional node.
func TestBodyIsRecordedAndBuiltByHand(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		var n graph.Node
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 1)))
				recorded, err := body.Graph()
				k.OK(err)
				deps, err := body.Dependencies()
				k.OK(err)
				n = k.Add(recorded, k.Launch(k.Times, b, 4), graphtest.Froms(deps)...)
				k.OK(body.SetDependencies(graphtest.After(n)...))
				d := k.Cond(recorded, graph.WithDefault(1))
				return body.If(d, graphtest.Does(k.Launch(k.Plus, b, 2)))
			})
		})
		k.Run(k.Exec(g))
		k.Expect(b, 10)
		k.OK(n.SetName("by hand"))
		named := false
		for in := range k.Snapshot(g).All() {
			named = named || in.Name == "by hand"
		}
		if !named {
			k.Errorf("the node that was added by hand has no name in %+v", k.Snapshot(g))
		}
	})
}
