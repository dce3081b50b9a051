package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// An iteration that could not list everything ends with the driver's error: a
// program would otherwise take a part of the graph, or none of it, for all.
func TestIterationsEndWithTheDriversError(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	g := k.graph()
	first := k.add(g, k.launch(k.plus, b, 1))
	last := k.add(g, k.launch(k.times, b, 1), first)
	walks := map[string]func() (int, error){
		"Nodes": func() (n int, first error) {
			for _, err := range g.Nodes() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Roots": func() (n int, first error) {
			for _, err := range g.Roots() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Edges": func() (n int, first error) {
			for _, err := range g.Edges() {
				n, first = n+1, errors.Join(first, err)
			}
			return n, first
		},
		"Len":          g.Len,
		"Dependencies": func() (int, error) { d, err := last.Dependencies(); return len(d), err },
		"Dependents":   func() (int, error) { d, err := first.Dependents(); return len(d), err },
	}
	want := map[string]int{"Nodes": 2, "Roots": 1, "Edges": 1, "Len": 2, "Dependencies": 1, "Dependents": 1}
	for name, walk := range walks {
		lib.Count()
		n, err := walk()
		calls := lib.Stop()
		if err != nil || n != want[name] || len(calls) == 0 {
			t.Fatalf("%s: %d, %v, in %d calls", name, n, err, len(calls))
		}
		for i, c := range calls {
			lib.FailNth(i+1, uint32(injected))
			_, err := walk()
			lib.Stop()
			if !errors.Is(err, injected) {
				t.Errorf("%s: call %d (%s) failed, got %v", name, i+1, c.Symbol, err)
			}
		}
	}
	var none *graph.Graph
	for _, err := range none.Nodes() {
		if err == nil {
			t.Error("a nil graph has nodes")
		}
	}
}
