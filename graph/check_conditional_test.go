package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// The bodies of one node never run at the same time; what is beside the node
// does.
func TestCheckLooksIntoBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		g := k.graph()
		c, err := g.NewCond()
		k.ok(err)
		set, err := c.SetWhen(graph.When(b.View(0, 1), graph.Greater, 0))
		k.ok(err)
		first := k.add(g, set)
		n, bodies, err := g.AddSwitch(c, 2, first)
		k.ok(err)
		k.add(bodies[0], onA)
		k.add(bodies[1], onA, k.add(bodies[1], onA))
		beside := k.add(g, onB, first)
		k.clean(g)
		k.ok(beside.Set(onA))
		if c := k.check(g); len(c.Conflicts) != 3 || len(c.Unknown) > 0 {
			t.Errorf("each node of the bodies is in conflict with the one beside, got %v", c)
		}
		k.ok(g.AddEdges(edgesOf([]graph.Node{n}, []graph.Node{beside})...))
		k.clean(g)
		k.add(bodies[0], onA)
		if c := k.check(g); len(c.Conflicts) != 1 || c.Conflicts[0].A.Graph() != bodies[0] {
			t.Errorf("there is one conflict within a body, got %v", c)
		}
	})
}

func TestCheckLooksIntoCapturedBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		onA, onB := k.launch(k.plus, a, 1), k.launch(k.plus, b, 1)
		other := k.stream()
		captured := func(beside driver.Op) *graph.Graph {
			return k.capture(func(sc *graph.Scope) error {
				c, err := sc.NewCond()
				k.ok(err)
				f, err := sc.Fork(other)
				k.ok(err)
				k.ok(f.Do(beside))
				k.ok(sc.If(c, func(body *graph.Scope) error { return body.Do(onA) }))
				return sc.Join(f)
			})
		}
		k.clean(captured(onB))
		if c := k.check(captured(onA)); len(c.Conflicts) != 1 || len(c.Unknown) > 0 {
			t.Errorf("the kernel in the body is in conflict with the one beside, got %v", c)
		}
	})
}
