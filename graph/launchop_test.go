package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// A child graph is a copy of the graph, so the launch of an Exec that is not like
// its graph any more cannot become one, whatever changed it.
func TestTheLaunchOfAChangedExecIsNoChildGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		op := k.launch(k.plus, b, 1)
		for what, change := range map[string]func(x *graph.Exec, n graph.Node) error{
			"Set":      func(x *graph.Exec, n graph.Node) error { return x.Set(n, op) },
			"SetBatch": func(x *graph.Exec, n graph.Node) error { return x.SetBatch([]graph.Change{{Node: n, Op: op}}) },
			"Enable":   func(x *graph.Exec, n graph.Node) error { return x.Enable(n, false) },
			"Update": func(x *graph.Exec, n graph.Node) error {
				g := k.graph()
				k.add(g, op)
				_, err := x.Update(g)
				return err
			},
			"bindings": func(x *graph.Exec, n graph.Node) error {
				v, err := graph.BindName[uint32](x.Bindings(), n, op, "v")
				return errors.Join(err, v.Set(3), x.Bindings().Launch(k.s))
			},
		} {
			g := k.graph()
			n := k.add(g, op)
			x := k.exec(g)
			if _, err := k.graph().Add(x.Op()); err != nil {
				t.Errorf("before %s: %v", what, err)
			}
			k.ok(change(x, n))
			_, err := k.graph().Add(x.Op())
			if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "was changed") {
				t.Errorf("after %s: %v", what, err)
			}
			other := k.graph()
			k.add(other, op)
			k.add(other, op)
			applied, err := x.Update(other, graph.WithReinstantiate())
			k.ok(err)
			if _, err := k.graph().Add(x.Op()); err != nil || !applied.Reinstantiated {
				t.Errorf("after %s, and instantiated anew: %v, %v", what, applied, err)
			}
		}
		k.ok(k.s.Wait(t.Context()))
	})
}
