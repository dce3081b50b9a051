package graph_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// bodyModes are those that captures with bodies are made in.
var bodyModes = map[string]graph.Mode{
	"global": graph.ModeGlobal, "thread local": graph.ModeThreadLocal, "relaxed": graph.ModeRelaxed,
}

func eachMode(t *testing.T, test func(k *kit, mode graph.Mode)) {
	t.Helper()
	for name, mode := range bodyModes {
		t.Run(name, func(t *testing.T) { each(t, func(k *kit) { test(k, mode) }) })
	}
}

func (k *kit) captureIn(mode graph.Mode, record func(sc *graph.Scope) error) *graph.Graph {
	k.Helper()
	g, err := graph.Capture(k.s, mode, record)
	k.ok(err)
	k.closeLater(g)
	return g
}

// does returns a body that records operations.
func does(ops ...driver.Op) func(sc *graph.Scope) error {
	return func(sc *graph.Scope) error {
		for _, op := range ops {
			if err := sc.Do(op); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestConditionalNodesAreCaptured(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		in, b, yes, no := k.words(0), k.memory(), k.memory(), k.memory()
		g := k.captureIn(mode, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			k.ok(err)
			d, err := sc.NewCond()
			k.ok(err)
			e, err := sc.NewCond()
			k.ok(err)
			k.ok(sc.Do(k.op(c.SetWhen(graph.When(in, graph.GreaterOrEqual, 1)))))
			k.ok(sc.Do(k.op(d.SetWhen(graph.When(in, graph.Equal, 2)))))
			k.ok(sc.Do(k.op(e.SetTo(in))))
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			k.ok(sc.If(c, does(k.launch(k.times, b, 10), k.launch(k.plus, b, 3))))
			k.ok(sc.IfElse(d, does(k.launch(k.plus, yes, 1)), does(k.launch(k.plus, no, 1))))
			k.ok(sc.Switch(e, nil, does(k.launch(k.times, yes, 100)), does(k.launch(k.times, no, 100))))
			return sc.Do(k.launch(k.times, b, 2))
		})
		x := k.exec(g)
		k.run(x)
		k.expect(b, 4)
		k.ok(in.Fill(1))
		k.run(x)
		k.expect(b, 106)
		k.expect(yes, 100)
		k.expect(no, 3)
		k.ok(in.Fill(2))
		k.run(x)
		k.expect(yes, 101)
		k.expect(no, 300)
		k.usable(k.s)
	})
}

func TestNestedLoopIsCaptured(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		rows, columns, b := k.words(0), k.words(0), k.memory()
		g := k.captureIn(mode, func(sc *graph.Scope) error {
			outer, err := sc.NewCond()
			k.ok(err)
			over, err := outer.Within(rows, 4)
			k.ok(err)
			k.ok(sc.Do(k.op(over.Start())))
			return sc.While(outer, func(row *graph.Scope) error {
				inner, err := row.NewCond()
				k.ok(err)
				within, err := inner.Within(columns, 5)
				k.ok(err)
				k.ok(row.Do(k.op(within.Start())))
				k.ok(row.While(inner, func(cell *graph.Scope) error {
					k.ok(cell.Do(k.launch(k.plus, b, 1)))
					even, err := cell.NewCond()
					k.ok(err)
					k.ok(cell.Do(k.op(even.SetWhen(graph.When(columns, graph.Equal, 2)))))
					k.ok(cell.If(even, does(k.launch(k.plus, b, 100))))
					return cell.Do(k.op(within.Next()))
				}))
				return row.Do(k.op(over.Next()))
			})
		})
		x := k.exec(g)
		k.run(x)
		k.expect(b, 1+4*5+4*100)
		k.run(x)
		k.expect(b, 1+2*(4*5+4*100))
		k.want("rows", rows, 4)
	})
}

func TestForkInACapturedBody(t *testing.T) {
	each(t, func(k *kit) {
		a, b, d, s := k.memory(), k.memory(), k.memory(), k.stream()
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, a, 1)))
				f, err := body.Fork(s)
				k.ok(err)
				k.ok(f.Do(k.launch(k.plus, b, 2)))
				k.ok(body.Do(k.launch(k.times, a, 3)))
				k.ok(body.Join(f))
				return body.Do(k.op(k.sum.Prepare(config, d, a, b, uint32(elems))))
			})
		})
		k.run(k.exec(g))
		k.expect(d, 9)
		k.usable(s)
	})
}

// A body takes what CUDA allows there, each sort of it.
func TestCapturedBodyOfCopiesFillsAndChildGraphs(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memoryOf(9)
		child := k.graph()
		k.add(child, k.launch(k.plus, a, 1))
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, body := k.addIf(g, c)
		last, err := intoGraph(body, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			k.ok(sc.Do(op[*driver.FillOp](k)(driver.Fill[uint32](a, 5))))
			k.ok(sc.Do(op[*driver.CopyOp](k)(driver.CopyDevice[uint32](b.View(0, 16), a.View(16, 32)))))
			inner, err := sc.Graph()
			k.ok(err)
			deps, err := sc.Dependencies()
			k.ok(err)
			n, err := inner.AddChild(child, froms(deps)...)
			k.ok(err)
			k.ok(sc.SetDependencies(after(n)...))
			return sc.Do(k.launch(k.times, a, 2))
		})
		k.ok(err)
		k.ok(b.Close())
		if len(last) != 1 || last[0].Graph() != body {
			k.Fatalf("the nodes to go on from are %v", last)
		}
		k.add(body, k.launch(k.plus, a, 1), last...)
		if count, err := body.Len(); err != nil || count != 5 {
			k.Errorf("%d nodes, %v", count, err)
		}
		k.run(k.exec(g))
		k.expect(a, 13)
	})
}

func TestCaptureIntoABodyGoesOnBehindItsNodes(t *testing.T) {
	each(t, func(k *kit) {
		a := k.memory()
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, body := k.addIf(g, c)
		first := k.add(body, k.launch(k.plus, a, 1))
		last, err := intoGraph(body, k.s, graph.ModeRelaxed, []graph.Node{first}, does(k.launch(k.times, a, 5)))
		k.ok(err)
		_, err = intoGraph(body, k.s, graph.ModeRelaxed, last, does(k.launch(k.plus, a, 2)))
		k.ok(err)
		k.run(k.exec(g))
		k.expect(a, 12)
		if _, err := beginInto(body, k.s, graph.ModeRelaxed); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
			k.Errorf("BeginInto a body: %v", err)
		}
	})
}

var errBody = errors.New("the body gave up")

// Whatever happens in a body, the capture around it goes on as if the node had
// never been asked for.
func TestFailureInABodyLeavesTheCaptureAround(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b := k.memory()
		g := k.captureIn(mode, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			fails := func(what string, want error, body func(*graph.Scope) error) {
				k.Helper()
				if err := sc.If(c, body); !errors.Is(err, want) {
					k.Errorf("%s: %v", what, err)
				}
			}
			fails("an error", errBody, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 100)))
				return errBody
			})
			fails("an error in a nested body", errBody, func(body *graph.Scope) error {
				d, err := body.NewCond(graph.WithDefault(1))
				k.ok(err)
				k.ok(body.If(d, does(k.launch(k.plus, b, 100))))
				return body.If(c, func(*graph.Scope) error { return errBody })
			})
			return errors.Join(sc.If(c, does(k.launch(k.plus, b, 1))), sc.Do(k.launch(k.times, b, 3)))
		})
		// The condition of the nested body has no node.
		if _, err := k.graphOf(g); err == nil {
			k.Errorf("a graph with an unused condition was instantiated")
		}
		k.usable(k.s)
	})
}

func TestInvalidatedBodyLeavesTheCaptureAround(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b, other := k.memory(), k.stream()
		g := k.captureIn(mode, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			err = sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 100)))
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
				k.ok(err)
				return f.Do(k.launch(k.plus, b, 100))
			})
			if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
				k.Errorf("a fork in a body that was not joined: %v", err)
			}
			return errors.Join(sc.If(c, does(k.launch(k.plus, b, 2))), sc.Do(k.launch(k.times, b, 3)))
		})
		k.run(k.exec(g))
		k.expect(b, 12)
		k.usable(k.s)
		k.usable(other)
	})
}

func TestWhatABodyDoesNotTakeIsNamed(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			if err := sc.If(c, does(k.launch(k.plus, b, 100), host)); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
				k.Errorf("a host function in a body: %v", err)
			}
			c, err = sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			return sc.If(c, does(k.launch(k.plus, b, 1)))
		})
		if count, err := g.Len(); err != nil || count != 1 {
			k.Errorf("%d nodes, %v", count, err)
		}
	})
}

func TestPanicAndGoexitInABodyEndBothCaptures(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b := k.memory()
		record := func(end func()) func() {
			return func() {
				_, _ = graph.Capture(k.s, mode, func(sc *graph.Scope) error {
					c, err := sc.NewCond(graph.WithDefault(1))
					if err != nil {
						return err
					}
					return sc.While(c, func(body *graph.Scope) error {
						if err := body.Do(k.launch(k.plus, b, 1)); err != nil {
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
		k.usable(k.s)
		done := make(chan struct{})
		go func() {
			defer close(done)
			record(runtime.Goexit)()
		}()
		<-done
		k.usable(k.s)
	})
}

func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestBadUseOfCapturedConditionals(t *testing.T) {
	each(t, func(k *kit) {
		other := k.graph()
		foreign := k.cond(other)
		b := k.memory()
		var kept graph.Cond
		g := k.capture(func(sc *graph.Scope) error {
			if err := sc.If(foreign, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a condition of another graph: %v", err)
			}
			if err := sc.If(graph.Cond{}, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("the zero condition: %v", err)
			}
			c, err := sc.NewCond(graph.WithDefault(0))
			k.ok(err)
			if err := sc.Switch(c); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a switch without bodies: %v", err)
			}
			k.ok(sc.If(c, nil))
			if err := sc.While(c, nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a condition for two nodes: %v", err)
			}
			kept = c
			return sc.Do(k.launch(k.plus, b, 1))
		})
		if kept.Graph() != g {
			k.Errorf("the condition is of %v, not of %v", kept.Graph(), g)
		}
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestScopesOfBodiesEndWithThem(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(0))
			k.ok(err)
			var late *graph.Scope
			k.ok(sc.If(c, func(body *graph.Scope) error {
				late = body
				return nil
			}))
			if err := late.Do(k.launch(k.plus, b, 1)); !errors.Is(err, graph.ErrEnded) {
				k.Errorf("work in a body that has ended: %v", err)
			}
			return nil
		})
	})
}

// Whatever happens to the capture, the graph in the node is as it was.
func TestFailedCaptureIntoAGraphInANodeLeavesIt(t *testing.T) {
	each(t, func(k *kit) {
		b, other := k.memory(), k.stream()
		child, g := k.graph(), k.graph()
		k.add(child, k.launch(k.plus, b, 1))
		n, err := g.AddChild(child)
		k.ok(err)
		inner, err := n.ChildGraph()
		k.ok(err)
		_, body := k.addIf(g, k.cond(g, graph.WithDefault(1)), n)
		k.add(body, k.launch(k.times, b, 2))
		for _, into := range []*graph.Graph{inner, body} {
			_, err = intoGraph(into, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				k.ok(sc.Do(k.launch(k.plus, b, 100)))
				if err := sc.Stream().Wait(background); err == nil {
					k.Errorf("a capturing stream was waited for")
				}
				return nil
			})
			k.refused("an invalidated capture", err, driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
			_, err = intoGraph(into, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				f, err := sc.Fork(other)
				k.ok(err)
				return f.Do(k.launch(k.plus, b, 100))
			})
			k.refused("an unjoined capture", err, driver.CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
			_, err = intoGraph(into, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
				k.ok(sc.Do(k.launch(k.plus, b, 100)))
				return errBody
			})
			if !errors.Is(err, errBody) {
				k.Errorf("an error: %v", err)
			}
			if count, err := into.Len(); err != nil || count != 1 {
				k.Errorf("%d nodes, %v", count, err)
			}
		}
		k.run(k.exec(g))
		k.expect(b, 4)
		k.usable(k.s)
		k.usable(other)
	})
}

// The edges of a fork come along, as do attributes.
func TestCapturedBodyKeepsEdgesAndAttributes(t *testing.T) {
	each(t, func(k *kit) {
		a, b, s := k.memory(), k.memory(), k.stream()
		cfg := config
		cfg.Priority = -1
		together, err := k.plus.Prepare(cfg, a, uint32(elems), uint32(1))
		k.ok(err)
		g := k.graph()
		_, body := k.addIf(g, k.cond(g, graph.WithDefault(1)))
		last, err := intoGraph(body, k.s, graph.ModeRelaxed, nil, func(sc *graph.Scope) error {
			k.ok(sc.Do(together))
			f, err := sc.Fork(s)
			k.ok(err)
			k.ok(f.Do(k.launch(k.plus, b, 1)))
			k.ok(sc.Do(k.launch(k.times, a, 3)))
			return sc.Join(f)
		})
		k.ok(err)
		if len(last) != 2 {
			k.Errorf("the nodes to go on from are %v", last)
		}
		edges := 0
		for e, err := range body.Edges() {
			k.ok(err)
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
			k.ok(err)
			k.ok(k.c.Driver().CuGraphKernelNodeGetAttribute(n.Raw(), cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v))
			if *v.Priority() != -1 {
				k.Errorf("the kernel has priority %d", *v.Priority())
			}
		}
		k.run(k.exec(g))
		k.expect(a, 6)
		k.expect(b, 2)
	})
}

func TestConditionalNodeOnAForkedStream(t *testing.T) {
	each(t, func(k *kit) {
		a, b, s := k.memory(), k.memory(), k.stream()
		g := k.capture(func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			f, err := sc.Fork(s)
			k.ok(err)
			c, err := f.NewCond(graph.WithDefault(1))
			k.ok(err)
			k.ok(f.If(c, does(k.launch(k.times, b, 5))))
			k.ok(sc.Do(k.launch(k.plus, a, 1)))
			k.ok(sc.Join(f))
			return sc.Do(op[*driver.Launch](k)(k.sum.Prepare(config, a, a, b, uint32(elems))))
		})
		k.run(k.exec(g))
		k.expect(a, 12)
	})
}

// What is added by hand to a body that is recorded moves into the node.
func TestBodyIsRecordedAndBuiltByHand(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		var n graph.Node
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 1)))
				recorded, err := body.Graph()
				k.ok(err)
				deps, err := body.Dependencies()
				k.ok(err)
				n = k.add(recorded, k.launch(k.times, b, 4), froms(deps)...)
				k.ok(body.SetDependencies(after(n)...))
				d := k.cond(recorded, graph.WithDefault(1))
				return body.If(d, does(k.launch(k.plus, b, 2)))
			})
		})
		k.run(k.exec(g))
		k.expect(b, 10)
		k.ok(n.SetName("by hand"))
		named := false
		for in := range k.snapshot(g).All() {
			named = named || in.Name == "by hand"
		}
		if !named {
			k.Errorf("the node that was added by hand has no name in %+v", k.snapshot(g))
		}
	})
}
