package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/graph"
)

// What is known of a captured graph's memory goes on in the graphs that it was
// copied into, also when it was changed and closed since and others were captured
// in its place.
func TestFootprintsOfACopyOutliveTheCapturedGraph(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		g, err := graph.Capture(k.s, graph.ModeRelaxed, func(sc *graph.Scope) error { return sc.Do(k.launch(k.plus, a, 1)) })
		k.ok(err)
		h := k.graph()
		_, err = h.AddChild(g)
		k.ok(err)
		k.add(h, k.launch(k.times, a, 2)) // side by side with the child
		for n, err := range g.Nodes() {
			k.ok(err)
			k.ok(n.Set(k.launch(k.plus, b, 1)))
		}
		k.ok(g.Close())
		for range 8 { // what it had is used again by others
			later := k.capture(func(sc *graph.Scope) error { return sc.Do(k.launch(k.times, b, 3)) })
			_, err := later.AddChild(k.graph())
			k.ok(err)
		}
		checked, err := h.Check()
		k.ok(err)
		if len(checked.Conflicts) != 1 || len(checked.Unknown) != 0 {
			k.Errorf("%v", checked)
		}
	})
}
