package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// Stream.After draws a stream into a capture and back, like Fork and Join.
func TestStreamsAreOrderedInACapture(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed} {
			b, side := k.memory(), k.stream()
			plus, times := k.launch(k.plus, b, 1), k.launch(k.times, b, 5)
			g, err := graph.Capture(k.s, mode, func(sc *graph.Scope) error {
				return errors.Join(sc.Do(plus), side.After(k.s), side.Do(times), sc.Keep(times.Refs()), k.s.After(side), sc.Do(plus))
			})
			k.ok(err)
			k.closeLater(g)
			k.types(g, []graph.Type{cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_KERNEL})
			k.run(k.exec(g))
			k.expect(b, 11)
		}
	})
}
