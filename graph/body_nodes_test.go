package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
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
