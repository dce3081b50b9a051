package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// BenchmarkScopeDo is what recording an operation costs above the driver, whose
// calls do nothing here.
func BenchmarkScopeDo(b *testing.B) {
	k := newKit(b, gputest.Context(b, nullDriver(b)))
	l := k.launch(k.plus, k.memory(), 1)
	r, err := graph.Begin(k.s, graph.ModeThreadLocal)
	k.ok(err)
	sc := r.Scope()
	b.ReportAllocs()
	for b.Loop() {
		if err := sc.Do(l); err != nil {
			b.Fatal(err)
		}
	}
	k.ok(r.Abort())
}
