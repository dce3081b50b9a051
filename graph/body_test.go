package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// latest returns the node of what was recorded last.
func (k *kit) latest(sc *graph.Scope) graph.Node {
	k.Helper()
	nodes, err := sc.Dependencies()
	k.ok(err)
	if len(nodes) != 1 {
		k.Fatalf("%d nodes were recorded last, want 1", len(nodes))
	}
	return nodes[0].From
}

func (k *kit) bodiesOf(n graph.Node) []*graph.Graph {
	k.Helper()
	bodies, err := n.Bodies()
	k.ok(err)
	return bodies
}

func (k *kit) nodesOf(g *graph.Graph) (nodes []graph.Node) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.ok(err)
		nodes = append(nodes, n)
	}
	return nodes
}

// A node that is taken while a body is recorded is the node of the body
// afterwards, with the name it was given, at any depth.
func TestNodesOfRecordedBodiesStay(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		a, b, rounds := k.memory(), k.memory(), k.words(0)
		var loop, step, inner, branch graph.Node
		var scope *graph.Graph
		g := k.captureIn(mode, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			k.ok(err)
			within, err := c.Within(rounds, 3)
			k.ok(err)
			k.ok(sc.Do(k.op(within.Start())))
			k.ok(sc.While(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, a, 1)))
				step = k.latest(body)
				k.ok(step.SetName("step"))
				scope, err = body.Graph()
				k.ok(err)
				d, err := body.NewCond(graph.WithDefault(1))
				k.ok(err)
				k.ok(body.If(d, func(body *graph.Scope) error {
					k.ok(body.Do(k.launch(k.plus, b, 1)))
					inner = k.latest(body)
					return inner.SetName("inner")
				}))
				branch = k.latest(body)
				k.ok(branch.SetName("branch"))
				return body.Do(k.op(within.Next()))
			}))
			loop = k.latest(sc)
			return loop.SetName("loop")
		})
		body := k.bodiesOf(loop)[0]
		if step.Graph() != body || branch.Graph() != body || scope != body {
			k.Errorf("nodes of %v and %v, the scope's graph is %v; the body is %v", step.Graph(), branch.Graph(), scope, body)
		}
		if nodes := k.nodesOf(body); len(nodes) != 3 || !slices.Contains(nodes, step) || !slices.Contains(nodes, branch) {
			k.Errorf("the body has %v, not %v and %v", nodes, step, branch)
		}
		if nodes := k.nodesOf(k.bodiesOf(branch)[0]); len(nodes) != 1 || nodes[0] != inner {
			k.Errorf("the inner body has %v, not %v", nodes, inner)
		}
		types := map[graph.Node]graph.Type{
			step: cu.CU_GRAPH_NODE_TYPE_KERNEL, inner: cu.CU_GRAPH_NODE_TYPE_KERNEL,
			branch: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL, loop: cu.CU_GRAPH_NODE_TYPE_CONDITIONAL,
		}
		for n, want := range types {
			if got, err := n.Type(); got != want || err != nil {
				k.Errorf("%v is a %v, %v; want a %v", n, got, err, want)
			}
		}
		after, err := step.Dependents()
		k.ok(err)
		if len(after) != 1 || after[0] != branch {
			k.Errorf("after %v runs %v, want %v", step, after, branch)
		}
		var names []string
		for n := range k.snapshot(g).All() {
			names = append(names, n.Name)
		}
		for _, name := range []string{"loop", "step", "branch", "inner"} {
			if !slices.Contains(names, name) {
				k.Errorf("%q is not in %q", name, names)
			}
		}
		x := k.exec(g)
		k.run(x)
		k.expect(a, 4)
		k.ok(x.Set(step, k.launch(k.plus, a, 10)))
		k.ok(x.Set(inner, k.launch(k.plus, b, 100)))
		k.run(x)
		k.expect(a, 34)
		k.expect(b, 304)
	})
}

// What a body refers to lives as long as the graph, also where the program has
// nodes of it.
func TestNodesOfRecordedBodiesKeepWhatTheyReferTo(t *testing.T) {
	each(t, func(k *kit) {
		b, sum := k.memoryOf(5), k.memory()
		var fill graph.Node
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.op(k.sum.Prepare(config, sum, b, b, uint32(elems)))))
				fill = k.latest(body)
				return nil
			})
		})
		k.ok(b.Close())
		k.run(k.exec(g))
		k.expect(sum, 10)
		if name := fill.Label(); name != "sum" {
			k.Errorf("the node is called %q", name)
		}
	})
}

// Of a body that fails, and of a conditional node that is destroyed, there are no
// nodes.
func TestNodesOfBodiesThatAreGone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		var lost, kept graph.Node
		var loop graph.Node
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(0))
			k.ok(err)
			failed := errors.New("failed")
			err = sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 1)))
				lost = k.latest(body)
				return failed
			})
			if !errors.Is(err, failed) {
				k.Errorf("a body that failed: %v", err)
			}
			k.ok(sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 1)))
				kept = k.latest(body)
				return nil
			}))
			loop = k.latest(sc)
			return nil
		})
		if _, err := lost.Type(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a node of a body that failed: %v", err)
		}
		k.ok(loop.Destroy())
		if _, err := kept.Type(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a node of a body that was destroyed: %v", err)
		}
		if kept.Raw() != 0 || loop.Raw() != 0 {
			k.Errorf("nodes that were destroyed have the handles %#x and %#x", kept.Raw(), loop.Raw())
		}
		k.ok(g.Close())
	})
}

// A capture into a body that exists has nodes of its own; whoever keeps one is told
// where to look.
func TestNodesOfACaptureIntoABodyNameTheBody(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		_, body, err := g.AddIf(k.cond(g, graph.WithDefault(1)))
		k.ok(err)
		var taken graph.Node
		last, err := intoGraph(body, k.s, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			k.ok(sc.Do(k.launch(k.plus, b, 1)))
			taken = k.latest(sc)
			return nil
		})
		k.ok(err)
		_, err = taken.Type()
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "take those of WithLast") {
			k.Errorf("a node of the capture: %v", err)
		}
		if len(last) != 1 || last[0].Graph() != body {
			k.Errorf("CaptureInto returned %v", last)
		}
	})
}

// What a user object ties to the graph of a body lives as long as the whole graph.
func TestUserObjectOfARecordedBodyStays(t *testing.T) {
	each(t, func(k *kit) {
		var d destructor
		u, b := k.user(d.destroy), k.memory()
		g := k.capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.ok(body.Do(k.launch(k.plus, b, 1)))
				recorded, err := body.Graph()
				k.ok(err)
				return recorded.RetainUserObject(u, 1)
			})
		})
		k.ok(u.Close())
		d.expect(k, 0)
		k.ok(g.Close())
		d.expect(k, 1)
	})
}

// refused checks an error's code and that it says certain words.
func (k *kit) refused(what string, err error, code driver.CUresult, words ...string) {
	k.Helper()
	if !errors.Is(err, code) {
		k.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

func TestConditionIsForOneNodeOfItsGraph(t *testing.T) {
	each(t, func(k *kit) {
		g, other := k.graph(), k.graph()
		c := k.cond(g)
		_, _, err := other.AddIf(c)
		k.refused("a condition of another graph", err, driver.CUDA_ERROR_INVALID_VALUE, "IF node", c.String(), g.String(), other.String())
		_, _, err = g.AddWhile(graph.Cond{})
		k.refused("the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE, "NewCond")
		n, body := k.addIf(g, c)
		_, _, err = g.AddWhile(c)
		k.refused("a second node", err, driver.CUDA_ERROR_INVALID_VALUE, n.String())
		_, _, err = body.AddIf(c)
		k.refused("a second node, in the body of the first", err, driver.CUDA_ERROR_INVALID_VALUE, n.String())
		for _, size := range []int{0, -1} {
			_, _, err = g.AddSwitch(k.cond(other), size)
			k.refused("a switch without bodies", err, driver.CUDA_ERROR_INVALID_VALUE, "bodies")
		}
	})
}

func TestConditionWithoutANodeCannotBeInstantiated(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		_, err := k.graphOf(g)
		var e *graph.InstantiateError
		if !errors.As(err, &e) || e.Result != cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED {
			k.Errorf("got %v", err)
		}
		k.refused("an unused condition", err, driver.CUDA_ERROR_INVALID_VALUE, "belongs to no node")
		// The node that has it may be deep inside.
		outer := k.cond(g, graph.WithDefault(1))
		_, body := k.addIf(g, outer)
		b := k.memory()
		_, deep := k.addIf(body, c)
		k.add(deep, k.launch(k.plus, b, 1))
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestConditionOfADestroyedNodeIsFreeAgain(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.graph(), k.memory()
		c := k.cond(g, graph.WithDefault(1))
		n, body := k.addIf(g, c)
		inner := k.cond(g, graph.WithDefault(1))
		k.addIf(body, inner)
		k.ok(n.Destroy())
		if _, err := body.Add(k.launch(k.plus, b, 1)); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a body of a destroyed node takes nodes: %v", err)
		}
		if _, err := n.Bodies(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("bodies of a destroyed node: %v", err)
		}
		_, err := k.graphOf(g)
		k.refused("conditions without a node", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, body = k.addIf(g, c)
		_, deep := k.addIf(body, inner)
		k.add(deep, k.launch(k.plus, b, 1))
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

func TestGraphWithConditionalsHasOneExecAtATime(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.graph(), k.memory()
		_, body := k.addIf(g, k.cond(g, graph.WithDefault(1)))
		n := k.add(body, k.launch(k.plus, b, 1))
		x, err := g.Instantiate()
		k.ok(err)
		_, err = g.Instantiate()
		k.refused("a second executable graph", err, driver.CUDA_ERROR_NOT_SUPPORTED, "one at a time", "IF")
		k.run(x)
		// An Exec cannot take its own place.
		k.add(body, k.launch(k.plus, b, 1), n)
		_, err = x.Update(g, graph.WithReinstantiate())
		k.refused("instantiating anew", err, driver.CUDA_ERROR_NOT_SUPPORTED, "one at a time")
		k.run(x)
		k.expect(b, 3)
		k.ok(x.Close())
		x = k.exec(g)
		k.run(x)
		k.expect(b, 5)
		// It can take that of another graph's, which is free then.
		plain := k.graph()
		k.add(plain, k.launch(k.plus, b, 1))
		how, err := x.Update(plain, graph.WithReinstantiate())
		k.ok(err)
		if !how.Reinstantiated {
			k.Errorf("%v", how)
		}
		k.run(k.exec(g))
		k.expect(b, 7)
	})
}

func TestGraphWithConditionalsIsNotCopied(t *testing.T) {
	each(t, func(k *kit) {
		g, other := k.graph(), k.graph()
		k.addWhile(g, k.cond(g))
		_, err := g.Clone()
		k.refused("clone", err, driver.CUDA_ERROR_NOT_SUPPORTED, "WHILE", "cloned")
		_, err = other.AddChild(g)
		k.refused("child", err, driver.CUDA_ERROR_NOT_SUPPORTED, "WHILE", "child")
		// The driver thinks so too.
		var raw driver.CUgraph
		k.refused("clone by the driver", k.c.Driver().CuGraphClone(&raw, g.Raw()), driver.CUDA_ERROR_NOT_SUPPORTED)
		var n cu.CUgraphNode
		err = k.c.Driver().CuGraphAddChildGraphNode(&n, other.Raw(), nil, 0, g.Raw())
		k.refused("child by the driver", err, driver.CUDA_ERROR_NOT_SUPPORTED)
	})
}

func TestBodyRefusesWhatCUDADoesNotTakeThere(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.graph(), k.memory()
		_, body := k.addIf(g, k.cond(g, graph.WithDefault(1)))
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		e, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(e)
		for _, op := range []driver.Op{host, driver.RecordOp(e), driver.WaitOp(e)} {
			_, err := body.Add(op)
			k.refused(op.String(), err, driver.CUDA_ERROR_NOT_SUPPORTED, "body")
			_, err = body.AddBatch(nil, []graph.Item{{Op: k.launch(k.plus, b, 1)}, {Op: op}})
			k.refused(op.String(), err, driver.CUDA_ERROR_NOT_SUPPORTED, "body")
		}
		p, err := graph.NewPlan(k.c, graph.Chain([]driver.Op{k.launch(k.plus, b, 1), host}))
		k.ok(err)
		k.closeLater(p)
		_, err = body.AddPlan(p)
		k.refused("a plan", err, driver.CUDA_ERROR_NOT_SUPPORTED, "body", "item 1")
		n, err := body.AddEmpty()
		k.ok(err)
		k.add(body, k.launch(k.plus, b, 1), n)
		k.run(k.exec(g))
		k.expect(b, 2)
	})
}

// What the library does not see, the driver refuses when the graph is
// instantiated.
func TestChildGraphOfABodyIsLookedAtByTheDriver(t *testing.T) {
	each(t, func(k *kit) {
		g, child := k.graph(), k.graph()
		host, err := driver.NewHostFunc(k.c, func() {})
		k.ok(err)
		k.add(child, host)
		_, body := k.addIf(g, k.cond(g, graph.WithDefault(1)))
		_, err = body.AddChild(child)
		k.ok(err)
		_, err = k.graphOf(g)
		var e *graph.InstantiateError
		if !errors.As(err, &e) || e.Result != cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED {
			k.Errorf("got %v", err)
		}
	})
}

func TestOperationsOfConditionsRefuseBadArguments(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.graph(), k.words(1)
		c := k.cond(g)
		_, err := graph.Cond{}.Set(1)
		k.refused("the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, err = graph.Cond{}.Within(b, 1)
		k.refused("a loop of the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, err = c.SetWhen(graph.When(b, graph.Cmp(0), 1))
		k.refused("no comparison", err, driver.CUDA_ERROR_INVALID_VALUE, "comparison")
		_, err = c.SetTo(b.View(0, 0))
		k.refused("no word", err, driver.CUDA_ERROR_INVALID_VALUE, "element")
		_, err = c.SetTo(nil)
		k.refused("nil", err, driver.CUDA_ERROR_INVALID_VALUE)
		gone := k.memoryOf(1)
		k.ok(gone.Close())
		if _, err = c.SetTo(gone); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("closed memory: %v", err)
		}
		set := k.op(c.Set(3))
		if err := driver.SetArg(set, 1, float32(1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a value of another type: %v", err)
		}
		k.ok(driver.SetArg(set, 1, uint32(0)))
		n := k.add(g, set)
		_, body := k.addIf(g, c, n)
		k.add(body, k.launch(k.plus, k.memory(), 1))
		k.run(k.exec(g))
	})
}

// An error between the node and what it was to hold spoils the capture, because
// CUDA destroys no node while it captures: there is no graph with half a loop.
func TestConditionalThatCannotBeCompletedFailsTheCapture(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	for _, call := range []string{"cuGraphKernelNodeCopyAttributes", "cuStreamUpdateCaptureDependencies_v2"} {
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.ok(err)
			lib.FailCall(call, 1, uint32(injected))
			err = sc.If(c, does(k.launch(k.plus, b, 1)))
			lib.Stop()
			if !errors.Is(err, injected) {
				t.Errorf("%s: If answers %v", call, err)
			}
			return nil // as if it did not matter
		})
		if !errors.Is(err, injected) {
			t.Errorf("%s: Capture answers %v", call, err)
		}
		k.usable(k.s)
	}
}
