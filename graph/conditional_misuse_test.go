package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

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
