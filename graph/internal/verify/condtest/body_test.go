package condtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) latest(sc *graph.Scope) graph.Node {
	k.Helper()
	nodes, err := sc.Dependencies()
	k.OK(err)
	if len(nodes) != 1 {
		k.Fatalf("%d nodes were recorded last, want 1", len(nodes))
	}
	return nodes[0].From
}

func (k *kit) bodiesOf(n graph.Node) []*graph.Graph {
	k.Helper()
	bodies, err := n.Bodies()
	k.OK(err)
	return bodies
}

func (k *kit) nodesOf(g *graph.Graph) (nodes []graph.Node) {
	k.Helper()
	for n, err := range g.Nodes() {
		k.OK(err)
		nodes = append(nodes, n)
	}
	return nodes
}

// A node obtained while a body is being recorded must later be a node of that body, with the same
// name, at any nesting depth.
func TestNodesOfRecordedBodiesStay(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		a, b, rounds := k.Memory(), k.Memory(), k.Words(0)
		var loop, step, inner, branch graph.Node
		var scope *graph.Graph
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			c, err := sc.NewCond()
			k.OK(err)
			within, err := c.Within(rounds, 3)
			k.OK(err)
			k.OK(sc.Do(k.Op(within.Start())))
			k.OK(sc.While(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, a, 1)))
				step = k.latest(body)
				k.OK(step.SetName("step"))
				scope, err = body.Graph()
				k.OK(err)
				d, err := body.NewCond(graph.WithDefault(1))
				k.OK(err)
				k.OK(body.If(d, func(body *graph.Scope) error {
					k.OK(body.Do(k.Launch(k.Plus, b, 1)))
					inner = k.latest(body)
					return inner.SetName("inner")
				}))
				branch = k.latest(body)
				k.OK(branch.SetName("branch"))
				return body.Do(k.Op(within.Next()))
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
		k.OK(err)
		if len(after) != 1 || after[0] != branch {
			k.Errorf("after %v runs %v, want %v", step, after, branch)
		}
		var names []string
		for n := range k.Snapshot(g).All() {
			names = append(names, n.Name)
		}
		for _, name := range []string{"loop", "step", "branch", "inner"} {
			if !slices.Contains(names, name) {
				k.Errorf("%q is not in %q", name, names)
			}
		}
		x := k.Exec(g)
		k.Run(x)
		k.Expect(a, 4)
		k.OK(x.Set(step, k.Launch(k.Plus, a, 10)))
		k.OK(x.Set(inner, k.Launch(k.Plus, b, 100)))
		k.Run(x)
		k.Expect(a, 34)
		k.Expect(b, 304)
	})
}

// The graph must retain the objects that a body's nodes refer to, even if the program also has
// Nodes of the body.
func TestNodesOfRecordedBodiesKeepWhatTheyReferTo(t *testing.T) {
	each(t, func(k *kit) {
		b, sum := k.MemoryOf(5), k.Memory()
		var fill graph.Node
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Op(k.Sum.Prepare(config, sum, b, b, uint32(elems)))))
				fill = k.latest(body)
				return nil
			})
		})
		k.OK(b.Close())
		k.Run(k.Exec(g))
		k.Expect(sum, 10)
		if name := fill.Label(); name != "sum" {
			k.Errorf("the node is called %q", name)
		}
	})
}

// The nodes of a failed body or of a destroyed conditional node must no longer exist.
func TestNodesOfBodiesThatAreGone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		var lost, kept graph.Node
		var loop graph.Node
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(0))
			k.OK(err)
			failed := errors.New("failed")
			err = sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 1)))
				lost = k.latest(body)
				return failed
			})
			if !errors.Is(err, failed) {
				k.Errorf("a body that failed: %v", err)
			}
			k.OK(sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 1)))
				kept = k.latest(body)
				return nil
			}))
			loop = k.latest(sc)
			return nil
		})
		if _, err := lost.Type(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a node of a body that failed: %v", err)
		}
		k.OK(loop.Destroy())
		if _, err := kept.Type(); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a node of a body that was destroyed: %v", err)
		}
		if kept.Raw() != 0 || loop.Raw() != 0 {
			k.Errorf("nodes that were destroyed have the handles %#x and %#x", kept.Raw(), loop.Raw())
		}
		k.OK(g.Close())
	})
}

// A capture into an existing body has its own nodes, which become invalid when it ends. The error
// for using such a node must name the nodes to use instead.
func TestNodesOfACaptureIntoABodyNameTheBody(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		_, body, err := g.AddIf(k.Cond(g, graph.WithDefault(1)))
		k.OK(err)
		var taken graph.Node
		last, err := graphtest.CaptureInto(body, k.S, graph.ModeThreadLocal, nil, func(sc *graph.Scope) error {
			k.OK(sc.Do(k.Launch(k.Plus, b, 1)))
			taken = k.latest(sc)
			return nil
		})
		k.OK(err)
		_, err = taken.Type()
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "use those of WithLast") {
			k.Errorf("a node of the capture: %v", err)
		}
		if len(last) != 1 || last[0].Graph() != body {
			k.Errorf("CaptureInto returned %v", last)
		}
	})
}

func TestUserObjectOfARecordedBodyStays(t *testing.T) {
	each(t, func(k *kit) {
		var d graphtest.Destructor
		u, b := k.User(d.Destroy), k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			return sc.If(c, func(body *graph.Scope) error {
				k.OK(body.Do(k.Launch(k.Plus, b, 1)))
				recorded, err := body.Graph()
				k.OK(err)
				return recorded.RetainUserObject(u, 1)
			})
		})
		k.OK(u.Close())
		d.Expect(k.Kit, 0)
		k.OK(g.Close())
		d.Expect(k.Kit, 1)
	})
}

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
		g, other := k.Graph(), k.Graph()
		c := k.Cond(g)
		_, _, err := other.AddIf(c)
		k.refused("a condition of another graph", err, driver.CUDA_ERROR_INVALID_VALUE, "IF node", c.String(), g.String(), other.String())
		_, _, err = g.AddWhile(graph.Cond{})
		k.refused("the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE, "NewCond")
		n, body := k.AddIf(g, c)
		_, _, err = g.AddWhile(c)
		k.refused("a second node", err, driver.CUDA_ERROR_INVALID_VALUE, n.String())
		_, _, err = body.AddIf(c)
		k.refused("a second node, in the body of the first", err, driver.CUDA_ERROR_INVALID_VALUE, n.String())
		for _, size := range []int{0, -1} {
			_, _, err = g.AddSwitch(k.Cond(other), size)
			k.refused("a switch without bodies", err, driver.CUDA_ERROR_INVALID_VALUE, "bodies")
		}
	})
}

func TestConditionWithoutANodeCannotBeInstantiated(t *testing.T) {
	each(t, func(k *kit) {
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		_, err := k.graphOf(g)
		var e *graph.InstantiateError
		if !errors.As(err, &e) || e.Result != cu.CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED {
			k.Errorf("got %v", err)
		}
		k.refused("an unused condition", err, driver.CUDA_ERROR_INVALID_VALUE, "belongs to no node")
		// The node that uses the condition may be nested at any depth.
		outer := k.Cond(g, graph.WithDefault(1))
		_, body := k.AddIf(g, outer)
		b := k.Memory()
		_, deep := k.AddIf(body, c)
		k.Add(deep, k.Launch(k.Plus, b, 1))
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestConditionOfADestroyedNodeIsFreeAgain(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.Graph(), k.Memory()
		c := k.Cond(g, graph.WithDefault(1))
		n, body := k.AddIf(g, c)
		inner := k.Cond(g, graph.WithDefault(1))
		k.AddIf(body, inner)
		k.OK(n.Destroy())
		if _, err := body.Add(k.Launch(k.Plus, b, 1)); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("a body of a destroyed node takes nodes: %v", err)
		}
		if _, err := n.Bodies(); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("bodies of a destroyed node: %v", err)
		}
		_, err := k.graphOf(g)
		k.refused("conditions without a node", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, body = k.AddIf(g, c)
		_, deep := k.AddIf(body, inner)
		k.Add(deep, k.Launch(k.Plus, b, 1))
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

func TestGraphWithConditionalsHasOneExecAtATime(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.Graph(), k.Memory()
		_, body := k.AddIf(g, k.Cond(g, graph.WithDefault(1)))
		n := k.Add(body, k.Launch(k.Plus, b, 1))
		x, err := g.Instantiate()
		k.OK(err)
		_, err = g.Instantiate()
		k.refused("a second executable graph", err, driver.CUDA_ERROR_NOT_SUPPORTED, "one at a time", "IF")
		k.Run(x)
		// x cannot be instantiated anew from its own graph, because x itself is still the only Exec
		// that graph may have.
		k.Add(body, k.Launch(k.Plus, b, 1), n)
		_, err = x.Update(g, graph.WithReinstantiate())
		k.refused("instantiating anew", err, driver.CUDA_ERROR_NOT_SUPPORTED, "one at a time")
		k.Run(x)
		k.Expect(b, 3)
		k.OK(x.Close())
		x = k.Exec(g)
		k.Run(x)
		k.Expect(b, 5)
		// x can be instantiated anew from another graph. The old graph of x may then have another
		// Exec.
		plain := k.Graph()
		k.Add(plain, k.Launch(k.Plus, b, 1))
		how, err := x.Update(plain, graph.WithReinstantiate())
		k.OK(err)
		if !how.Reinstantiated {
			k.Errorf("%v", how)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 7)
	})
}

func TestGraphWithConditionalsIsNotCopied(t *testing.T) {
	each(t, func(k *kit) {
		g, other := k.Graph(), k.Graph()
		k.AddWhile(g, k.Cond(g))
		_, err := g.Clone()
		k.refused("clone", err, driver.CUDA_ERROR_NOT_SUPPORTED, "WHILE", "cloned")
		_, err = other.AddChild(g)
		k.refused("child", err, driver.CUDA_ERROR_NOT_SUPPORTED, "WHILE", "child")
		// The driver must also reject both operations.
		var raw driver.CUgraph
		k.refused("clone by the driver", k.C.Driver().CuGraphClone(&raw, g.Raw()), driver.CUDA_ERROR_NOT_SUPPORTED)
		var n cu.CUgraphNode
		err = k.C.Driver().CuGraphAddChildGraphNode(&n, other.Raw(), nil, 0, g.Raw())
		k.refused("child by the driver", err, driver.CUDA_ERROR_NOT_SUPPORTED)
	})
}

func TestBodyRefusesWhatCUDADoesNotTakeThere(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.Graph(), k.Memory()
		_, body := k.AddIf(g, k.Cond(g, graph.WithDefault(1)))
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		e, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(e)
		for _, op := range []driver.Op{host, driver.RecordOp(e), driver.WaitOp(e)} {
			_, err := body.Add(op)
			k.refused(op.String(), err, driver.CUDA_ERROR_NOT_SUPPORTED, "body")
			_, err = body.AddBatch(nil, []graph.Item{{Op: k.Launch(k.Plus, b, 1)}, {Op: op}})
			k.refused(op.String(), err, driver.CUDA_ERROR_NOT_SUPPORTED, "body")
		}
		p, err := graph.NewPlan(k.C, graph.Chain([]driver.Op{k.Launch(k.Plus, b, 1), host}))
		k.OK(err)
		k.CloseLater(p)
		_, err = body.AddPlan(p)
		k.refused("a plan", err, driver.CUDA_ERROR_NOT_SUPPORTED, "body", "item 1")
		n, err := body.AddEmpty()
		k.OK(err)
		k.Add(body, k.Launch(k.Plus, b, 1), n)
		k.Run(k.Exec(g))
		k.Expect(b, 2)
	})
}

// The library does not check the nodes of a child graph in a body, so the driver must reject these
// nodes at instantiation.
func TestChildGraphOfABodyIsLookedAtByTheDriver(t *testing.T) {
	each(t, func(k *kit) {
		g, child := k.Graph(), k.Graph()
		host, err := driver.NewHostFunc(k.C, func() {})
		k.OK(err)
		k.Add(child, host)
		_, body := k.AddIf(g, k.Cond(g, graph.WithDefault(1)))
		_, err = body.AddChild(child)
		k.OK(err)
		_, err = k.graphOf(g)
		var e *graph.InstantiateError
		if !errors.As(err, &e) || e.Result != cu.CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED {
			k.Errorf("got %v", err)
		}
	})
}

func TestOperationsOfConditionsRefuseBadArguments(t *testing.T) {
	each(t, func(k *kit) {
		g, b := k.Graph(), k.Words(1)
		c := k.Cond(g)
		_, err := graph.Cond{}.Set(1)
		k.refused("the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, err = c.SetWhen(graph.Predicate{})
		k.refused("the zero predicate", err, driver.CUDA_ERROR_INVALID_VALUE, "zero Predicate", "When")
		_, err = graph.Cond{}.Within(b, 1)
		k.refused("a loop of the zero condition", err, driver.CUDA_ERROR_INVALID_VALUE)
		_, err = c.SetWhen(graph.When(b, graph.Cmp(0), 1))
		k.refused("no comparison", err, driver.CUDA_ERROR_INVALID_VALUE, "comparison")
		_, err = c.SetTo(b.View(0, 0))
		k.refused("no word", err, driver.CUDA_ERROR_INVALID_VALUE, "element")
		_, err = c.SetTo(nil)
		k.refused("nil", err, driver.CUDA_ERROR_INVALID_VALUE)
		gone := k.MemoryOf(1)
		k.OK(gone.Close())
		if _, err = c.SetTo(gone); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("closed memory: %v", err)
		}
		set := k.Op(c.Set(3))
		if err := driver.SetArg(set, 1, float32(1)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a value of another type: %v", err)
		}
		k.OK(driver.SetArg(set, 1, uint32(0)))
		n := k.Add(g, set)
		_, body := k.AddIf(g, c, n)
		k.Add(body, k.Launch(k.Plus, k.Memory(), 1))
		k.Run(k.Exec(g))
	})
}

// An error after the conditional node was recorded, but before its body is complete, must make the
// capture fail. CUDA cannot destroy the node during the capture, and no graph with an incomplete
// loop may result.
func TestConditionalThatCannotBeCompletedFailsTheCapture(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.Memory()
	for _, call := range []string{"cuGraphKernelNodeCopyAttributes", "cuStreamUpdateCaptureDependencies_v2"} {
		_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			c, err := sc.NewCond(graph.WithDefault(1))
			k.OK(err)
			lib.FailCall(call, 1, uint32(graphtest.Injected))
			err = sc.If(c, graphtest.Does(k.Launch(k.Plus, b, 1)))
			lib.Stop()
			if !errors.Is(err, graphtest.Injected) {
				t.Errorf("%s: If returns %v", call, err)
			}
			return nil // ignores the error of If
		})
		if !errors.Is(err, graphtest.Injected) {
			t.Errorf("%s: Capture returns %v", call, err)
		}
		k.Usable(k.S)
	}
}
