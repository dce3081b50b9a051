package inflight_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
)

// stageKit returns an exec, its output, and operations that fill its input with 0 to 9. The exec
// adds its input to its output at the beginning and at the end of the graph.
func stageKit(k *kit) (x *graph.Exec, out *driver.Buffer[uint32], in [10]driver.Op) {
	k.Helper()
	out = k.Memory()
	input := k.MemoryOf(0)
	k.CloseLater(input)
	for v := range in {
		op, err := driver.Fill[uint32](input, uint32(v))
		k.OK(err)
		in[v] = op
	}
	g := k.Graph()
	n := k.Add(g, k.SumOf(out, out, input))
	for range 20 { // long enough to expose a race
		n = k.Add(g, k.Launch(k.Plus, out, 0), n)
	}
	k.Add(g, k.SumOf(out, out, input), n)
	return k.Exec(g), out, in
}

func TestStagedInputsAreThoseOfTheNextLaunch(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		want := uint32(1)
		for v := range uint32(10) {
			k.OK(x.Stage(k.S, in[v]))
			k.OK(x.Launch(k.S))
			want += 2 * v
		}
		k.Expect(out, want)
	})
}

// On any combination of streams, staged work must run after the previous launch and before the
// launch it was staged for.
func TestStagingIsOrderedAcrossStreams(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		streams := []*driver.Stream{k.S, k.Stream(), k.Stream()}
		want := uint32(1)
		for i := range 60 {
			v := i % len(in)
			k.OK(x.Stage(streams[i%3], in[0]))
			k.OK(x.Stage(streams[i%2], in[v])) // the last of several staged copies applies
			k.OK(x.Launch(streams[(i+i/3)%3]))
			want += 2 * uint32(v)
		}
		k.OK(x.Wait(background))
		k.Expect(out, want)
	})
}

func TestBoundLaunchWaitsForWhatIsStaged(t *testing.T) {
	each(t, func(k *kit) {
		b, input := k.Memory(), k.Memory()
		g := k.Graph()
		l := k.Launch(k.Plus, b, 0)
		first := k.Add(g, l)
		k.Add(g, k.SumOf(b, b, input), first)
		x := k.Exec(g)
		bs := x.Bindings()
		add := graphtest.Bind[uint32](k.Kit, bs, first, l, "v")
		fill, err := driver.Fill[uint32](input, 100)
		k.OK(err)
		other := k.Stream()
		k.OK(x.Stage(other, fill))
		k.OK(add.Set(5))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 106)
	})
}

func TestStagingOnAStreamThatIsClosedThen(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		other, err := k.C.NewStream()
		k.OK(err)
		k.OK(x.Stage(other, in[4]))
		k.OK(other.Close())
		k.OK(x.Launch(k.S))
		k.Expect(out, 9)
		if err := x.Stage(other, in[1]); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("got %v", err)
		}
	})
}

func TestStagingSaysWhichOperationIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		x, out, in := stageKit(k)
		err := x.Stage(k.S, in[3], nil)
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "operation 1") {
			k.Errorf("got %v", err)
		}
		k.Run(x)
		k.Expect(out, 7)
		var none *graph.Exec
		if err := none.Stage(k.S, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
		if err := x.Stage(nil, in[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("got %v", err)
		}
	})
}

// The launch of an Exec becomes a child graph that is a copy of the Exec's graph. If the Exec no
// longer matches its graph, the launch must be rejected instead.
func TestTheLaunchOfAChangedExecIsNoChildGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		op := k.Launch(k.Plus, b, 1)
		for what, change := range map[string]func(x *graph.Exec, n graph.Node) error{
			"Set":      func(x *graph.Exec, n graph.Node) error { return x.Set(n, op) },
			"SetBatch": func(x *graph.Exec, n graph.Node) error { return x.SetBatch([]graph.Change{{Node: n, Op: op}}) },
			"Enable":   func(x *graph.Exec, n graph.Node) error { return x.Enable(n, false) },
			"Update": func(x *graph.Exec, n graph.Node) error {
				g := k.Graph()
				k.Add(g, op)
				_, err := x.Update(g)
				return err
			},
			"bindings": func(x *graph.Exec, n graph.Node) error {
				v, err := graph.BindName[uint32](x.Bindings(), n, op, "v")
				return errors.Join(err, v.Set(3), x.Bindings().Launch(k.S))
			},
		} {
			g := k.Graph()
			n := k.Add(g, op)
			x := k.Exec(g)
			if _, err := k.Graph().Add(x.Op()); err != nil {
				t.Errorf("before %s: %v", what, err)
			}
			k.OK(change(x, n))
			_, err := k.Graph().Add(x.Op())
			if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "has changed") {
				t.Errorf("after %s: %v", what, err)
			}
			other := k.Graph()
			k.Add(other, op)
			k.Add(other, op)
			applied, err := x.Update(other, graph.WithReinstantiate())
			k.OK(err)
			if _, err := k.Graph().Add(x.Op()); err != nil || !applied.Reinstantiated {
				t.Errorf("after %s, and instantiated anew: %v, %v", what, applied, err)
			}
		}
		k.OK(k.S.Wait(t.Context()))
	})
}

// Stream.After must draw a stream into a capture and back, like Fork and Join.
func TestStreamsAreOrderedInACapture(t *testing.T) {
	each(t, func(k *kit) {
		for _, mode := range []graph.Mode{graph.ModeGlobal, graph.ModeThreadLocal, graph.ModeRelaxed} {
			b, side := k.Memory(), k.Stream()
			plus, times := k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 5)
			g, err := graph.Capture(k.S, mode, func(sc *graph.Scope) error {
				return errors.Join(sc.Do(plus), side.After(k.S), side.Do(times), sc.Keep(times.Uses().Refs), k.S.After(side), sc.Do(plus))
			})
			k.OK(err)
			k.CloseLater(g)
			k.Types(g, []graph.Type{cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_KERNEL})
			k.Run(k.Exec(g))
			k.Expect(b, 11)
		}
	})
}
