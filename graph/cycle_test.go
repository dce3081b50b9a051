package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func TestCycleIsNamedByItsNodes(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		var nodes []graph.Node
		for _, name := range []string{"before", "load", "scale", "store", "after"} {
			n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
			k.ok(err)
			k.ok(n.SetName(name))
			nodes = append(nodes, n)
		}
		k.ok(dependOn(nodes[1], nodes[3])) // load runs after store
		_, err := g.Instantiate()
		var e *graph.InstantiateError
		if !errors.As(err, &e) {
			k.Fatalf("instantiated: %v", err)
		}
		text := err.Error()
		for _, name := range []string{"cycle", "(load)", "(scale)", "(store)", " → "} {
			if !strings.Contains(text, name) {
				k.Errorf("%v does not say %s", err, name)
			}
		}
		if strings.Contains(text, "(before)") || strings.Contains(text, "(after)") {
			k.Errorf("%v names nodes beside the cycle", err)
		}
		k.ok(g.RemoveEdges(edgesOf(nodes[3:4], nodes[1:2])...))
		k.run(k.exec(g))
	})
}

// Check names the nodes of a cycle as Instantiate does, also of one in a body.
func TestCheckNamesTheNodesOfACycle(t *testing.T) {
	each(t, func(k *kit) {
		circle := func(g *graph.Graph) {
			var nodes []graph.Node
			for _, name := range []string{"before", "load", "store", "after"} {
				n, err := g.AddEmpty(nodes[max(0, len(nodes)-1):]...)
				k.ok(err)
				k.ok(n.SetName(name))
				nodes = append(nodes, n)
			}
			k.ok(dependOn(nodes[1], nodes[2]))
		}
		flat, outer := k.graph(), k.graph()
		circle(flat)
		_, body, err := outer.AddIf(k.cond(outer, graph.WithDefault(1)))
		k.ok(err)
		circle(body)
		for name, g := range map[string]*graph.Graph{"flat": flat, "in a body": outer} {
			_, err := g.Check()
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s: checked: %v", name, err)
				continue
			}
			for _, want := range []string{"cycle", "(load)", "(store)", " → "} {
				if !strings.Contains(err.Error(), want) {
					k.Errorf("%s: %v does not say %s", name, err, want)
				}
			}
			if strings.Contains(err.Error(), "(before)") || strings.Contains(err.Error(), "(after)") {
				k.Errorf("%s: %v names nodes beside the cycle", name, err)
			}
		}
	})
}

func TestNodeDoesNotRunAfterItself(t *testing.T) {
	each(t, func(k *kit) {
		g := k.graph()
		a, err := g.AddEmpty()
		k.ok(err)
		b, err := g.AddEmpty()
		k.ok(err)
		if err := dependOn(b, a, b); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "after itself") {
			k.Errorf("got %v", err)
		}
		if err := g.AddEdges(graph.Edge{From: a}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "zero Node") {
			k.Errorf("the zero Node: %v", err)
		}
	})
}
