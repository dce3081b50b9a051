package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// stageKit is an exec that adds its input to its output, and operations that fill the
// input with 1 to 9.
func stageKit(k *kit) (x *graph.Exec, out *driver.Buffer[uint32], in [10]driver.Op) {
	k.Helper()
	out = k.memory()
	input := k.memoryOf(0)
	k.closeLater(input)
	for v := range in {
		op, err := driver.Fill[uint32](input, uint32(v))
		k.ok(err)
		in[v] = op
	}
	g := k.graph()
	n := k.add(g, k.sumOf(out, out, input))
	for range 20 { // long enough for a race to show
		n = k.add(g, k.launch(k.plus, out, 0), n)
	}
	k.add(g, k.sumOf(out, out, input), n)
	return k.exec(g), out, in
}

func TestStagedInputsAreThoseOfTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		want := uint32(1)
		for v := range uint32(10) {
			k.ok(x.Stage(k.s, in[v]))
			k.ok(x.Launch(k.s))
			want += 2 * v
		}
		k.expect(out, want)
	})
}

// Whatever streams are used, staging does not overtake the launch before nor the
// launch after what was staged for it.
func TestStagingIsOrderedAcrossStreams(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		streams := []*driver.Stream{k.s, k.stream(), k.stream()}
		want := uint32(1)
		for i := range 60 {
			v := i % len(in)
			k.ok(x.Stage(streams[i%3], in[0]))
			k.ok(x.Stage(streams[i%2], in[v])) // of two, the later one counts
			k.ok(x.Launch(streams[(i+i/3)%3]))
			want += 2 * uint32(v)
		}
		k.ok(x.Wait(background))
		k.expect(out, want)
	})
}

func TestBoundLaunchWaitsForWhatIsStaged(t *testing.T) {
	each(t, func(k *kit) {
		b, input := k.memory(), k.memory()
		g := k.graph()
		l := k.launch(k.plus, b, 0)
		first := k.add(g, l)
		k.add(g, k.sumOf(b, b, input), first)
		x := k.exec(g)
		bs := x.Bindings()
		add := bind[uint32](k, bs, first, l, "v")
		fill, err := driver.Fill[uint32](input, 100)
		k.ok(err)
		other := k.stream()
		k.ok(x.Stage(other, fill))
		k.ok(add.Set(5))
		k.ok(bs.Launch(k.s))
		k.expect(b, 106)
	})
}

func TestStagingOnAStreamThatIsClosedThen(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		other, err := k.c.NewStream()
		k.ok(err)
		k.ok(x.Stage(other, in[4]))
		k.ok(other.Close())
		k.ok(x.Launch(k.s))
		k.expect(out, 9)
		if err := x.Stage(other, in[1]); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
	})
}

func TestStagingSaysWhichOperationIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		err := x.Stage(k.s, in[3], nil)
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "operation 1") {
			k.Errorf("got %v", err)
		}
		k.run(x)
		k.expect(out, 7)
		var none *graph.Exec
		if err := none.Stage(k.s, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
		if err := x.Stage(nil, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
	})
}

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
