package features

import (
	"testing"

	"github.com/purecuda/cuda/graph"
)

// A WHILE node repeats its body until the kernel in the body sets the condition to 0.
func TestKernelsEndALoop(t *testing.T) {
	each(t, func(d *device) {
		left, x := upload[uint32](d, 5), upload[uint32](d, 3)
		count, twice := must(CountdownIn(d.c))(d), must(DoubleIn(d.c))(d)
		g := must(graph.Capture(d.s, graph.ModeThreadLocal, func(s *graph.Scope) error {
			c := must(s.NewCond(graph.WithDefault(1)))(d)
			return s.While(c, func(body *graph.Scope) error {
				noError(d, twice.Do(body, twice.Grid(1), x.All()))
				return count.Do(body, count.Grid(1), left.All(), c)
			})
		}))(d)
		defer g.Close()
		exec := must(g.Instantiate())(d)
		defer exec.Close()
		noError(d, exec.Launch(d.s))
		if got := download(d, x)[0]; got != 3<<5 {
			d.Errorf("after 5 rounds, x is %d", got)
		}
		noError(d, left.CopyFrom([]uint32{2}))
		noError(d, exec.Launch(d.s))
		if got, rest := download(d, x)[0], download(d, left)[0]; got != 3<<7 || rest != 0 {
			d.Errorf("after 2 more rounds, x is %d and left %d", got, rest)
		}
	})
}

// An IF node runs its body if the preceding kernel sets the condition.
func TestKernelsDecide(t *testing.T) {
	each(t, func(d *device) {
		in, x := upload[uint32](d, 0), upload[uint32](d, 1)
		k, twice := must(AboveIn(d.c))(d), must(DoubleIn(d.c))(d)
		g := must(graph.Capture(d.s, graph.ModeThreadLocal, func(s *graph.Scope) error {
			c := must(s.NewCond())(d)
			noError(d, k.Do(s, k.Grid(1), in.All(), 10, c))
			return s.If(c, func(body *graph.Scope) error { return twice.Do(body, twice.Grid(1), x.All()) })
		}))(d)
		defer g.Close()
		exec := must(g.Instantiate())(d)
		defer exec.Close()
		for i, v := range []uint32{10, 11, 0, 1 << 31} {
			noError(d, in.CopyFrom([]uint32{v}))
			noError(d, exec.Launch(d.s))
			if got, want := download(d, x)[0], []uint32{1, 2, 2, 4}[i]; got != want {
				d.Fatalf("after %d, x is %d, want %d", v, got, want)
			}
		}
	})
}
