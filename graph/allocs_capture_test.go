package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// What captures and executable graphs are made of is few objects: what watches
// over them is handed from one to the next.
func TestCapturesAndExecsAreFewObjects(t *testing.T) {
	t.Run("null", func(t *testing.T) { fewObjects(newKit(t, gputest.Context(t, gputest.Driver(t, new(nullCapture))))) })
	t.Run("gpu", func(t *testing.T) { fewObjects(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func fewObjects(k *kit) {
	k.Helper()
	hook := driver.SetLeakHook(nil) // which notes where each object is made
	defer driver.SetLeakHook(hook)
	l := k.launch(k.plus, k.memory(), 1)
	record := func(sc *graph.Scope) error { return sc.Do(l) }
	k.most(3, "a capture and its graph", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, func(*graph.Scope) error { return nil })
		k.ok(err)
		k.ok(g.Close())
	})
	k.most(4, "a capture of a launch and its graph", func() {
		g, err := graph.Capture(k.s, graph.ModeThreadLocal, record)
		k.ok(err)
		k.ok(g.Close())
	})
	k.most(2, "a graph", func() {
		g, err := graph.New(k.c)
		k.ok(err)
		k.ok(g.Close())
	})
	g := k.graph()
	k.add(g, l)
	k.most(2, "an executable graph", func() {
		x, err := g.Instantiate()
		k.ok(err)
		k.ok(x.Close())
	})
}

// most shows that f allocates n objects at most.
func (k *kit) most(n float64, what string, f func()) {
	k.Helper()
	if allocs := testing.AllocsPerRun(200, f); allocs > n+allocsAllowed && !raceDetector {
		k.Errorf("%s: %v allocations, want %v at most", what, allocs, n)
	}
}
