package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func (k *kit) noted(sc *graph.Scope, op driver.Op) graph.Node {
	k.Helper()
	n, err := sc.Add(op)
	k.OK(err)
	return n
}

func TestRecordedLaunchIsBound(t *testing.T) {
	record := func(k *kit, mode graph.Mode) {
		b := k.Memory()
		step, other := k.Launch(k.Plus, b, 1), k.Launch(k.Times, b, 2)
		var n, second graph.Node
		g := k.CaptureIn(mode, func(sc *graph.Scope) error {
			n = k.noted(sc, step)
			second = k.noted(sc, other)
			return nil
		})
		if deps, err := second.Dependencies(); err != nil || len(deps) != 1 || deps[0] != n {
			k.Errorf("%v runs after %v, %v; want %v", second, deps, err, n)
		}
		if n.Graph() != g || n.Label() != "plus" || second.Label() != "times" {
			k.Errorf("%v of %v is %q, %v is %q", n, n.Graph(), n.Label(), second, second.Label())
		}
		x := k.Exec(g)
		v := graphtest.Bind[uint32](k.Kit, x.Bindings(), n, step, "v")
		want := uint32(1)
		for i := range uint32(3) {
			k.OK(v.Set(i))
			k.OK(x.Bindings().Launch(k.S))
			want = (want + i) * 2
		}
		k.Expect(b, want)
	}
	for name, mode := range graphtest.BodyModes {
		t.Run(name, func(t *testing.T) { each(t, func(k *kit) { record(k, mode) }) })
	}
}

func TestNodesOfWhatIsRecorded(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		none, err := driver.CopyDevice[uint32](a.View(0, 0), b.View(0, 0))
		k.OK(err)
		fill, err := driver.Fill[uint32](b, 3)
		k.OK(err)
		e, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(e)
		record := driver.RecordOp(e)
		ran := make(chan struct{}, 1)
		host, err := driver.NewHostFunc(k.C, func() { ran <- struct{}{} })
		k.OK(err)
		var scope *graph.Scope
		g := k.Capture(func(sc *graph.Scope) error {
			scope = sc
			first := k.noted(sc, none)
			for op, want := range map[driver.Op]graph.Type{
				none: cu.CU_GRAPH_NODE_TYPE_EMPTY, fill: cu.CU_GRAPH_NODE_TYPE_MEMSET, host: cu.CU_GRAPH_NODE_TYPE_HOST,
			} {
				if got, err := k.noted(sc, op).Type(); got != want || err != nil {
					k.Errorf("%v makes a %v, %v; want a %v", op, got, err, want)
				}
			}
			if after, err := first.Dependents(); err != nil || len(after) != 1 {
				k.Errorf("after an empty node comes %v, %v", after, err)
			}
			if _, err := sc.Add(record); !errors.Is(err, driver.CUDA_ERROR_NOT_SUPPORTED) {
				k.Errorf("an event record: %v", err)
			}
			if _, err := sc.Add(nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a nil operation: %v", err)
			}
			if _, err := sc.Add((*driver.Launch)(nil)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("a nil launch: %v", err)
			}
			return nil
		})
		k.Run(k.Exec(g))
		<-ran
		k.Expect(b, 3)
		if _, err := scope.Add(fill); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("after the end: %v", err)
		}
	})
}

// A rejected launch must end the capture, as with Do, and the error must name the launch.
func TestRecordedNodeThatFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.MemoryOf(1)
		l := k.Launch(k.Plus, b, 1)
		k.OK(b.Close())
		_, err := graph.Capture(k.S, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			_, err := sc.Add(l)
			return err
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "plus") {
			k.Errorf("got %v", err)
		}
		k.Usable(k.S)
	})
}

// loop returns an Exec with two kernel nodes and their launches. The first node adds to a. The
// second adds to b, in the body of a loop that runs three times.
func (k *kit) loop(a, b *driver.Buffer[uint32]) (x *graph.Exec, outside, inside graph.Node, ops [2]*driver.Launch) {
	k.Helper()
	rounds := k.Words(0)
	ops = [2]*driver.Launch{k.Launch(k.Plus, a, 0), k.Launch(k.Plus, b, 0)}
	g := k.Capture(func(sc *graph.Scope) error {
		outside = k.noted(sc, ops[0])
		c, err := sc.NewCond()
		k.OK(err)
		within, err := c.Within(rounds, 3)
		k.OK(err)
		k.OK(sc.Do(k.Op(within.Start())))
		return sc.While(c, func(body *graph.Scope) error {
			inside = k.noted(body, ops[1])
			return body.Do(k.Op(within.Next()))
		})
	})
	return k.Exec(g), outside, inside, ops
}

func TestLaunchInABodyIsBound(t *testing.T) {
	each(t, func(k *kit) {
		a, b, c := k.Memory(), k.Memory(), k.Memory()
		x, outside, inside, ops := k.loop(a, a)
		bs := x.Bindings()
		v, to := graphtest.Bind[uint32](k.Kit, bs, inside, ops[1], "v"), graphtest.Bind[*driver.Buffer[uint32]](k.Kit, bs, inside, ops[1], "p")
		first := graphtest.Bind[uint32](k.Kit, bs, outside, ops[0], "v")
		k.OK(v.Set(2))
		k.OK(first.Set(100))
		k.OK(bs.Launch(k.S))
		k.Expect(a, 1+100+3*2)
		k.OK(to.Set(b))
		k.OK(bs.Launch(k.S))
		k.OK(to.Set(c))
		k.OK(bs.Launch(k.S))
		k.Expect(a, 1+3*100+3*2)
		k.Expect(b, 1+3*2)
		k.Expect(c, 1+3*2)
	})
}

// Body nodes have their own numbering. Binding a body node to other memory must not release the
// memory of the outer graph's node with the same number.
func TestBoundLaunchInABodyKeepsOtherNodesMemory(t *testing.T) {
	each(t, func(k *kit) {
		a, b, c := k.MemoryOf(1), k.Memory(), k.Memory()
		x, _, inside, ops := k.loop(a, b)
		bs := x.Bindings()
		to := graphtest.Bind[*driver.Buffer[uint32]](k.Kit, bs, inside, ops[1], "p")
		lifetime := a.Ref().Lifetime()
		for _, m := range []*driver.Buffer[uint32]{b, c, b, c} {
			k.OK(to.Set(m))
			k.OK(bs.Launch(k.S))
			k.OK(x.Wait(background))
		}
		k.OK(a.Close())
		k.OK(bs.Launch(k.S)) // the launch reads and writes a
		k.OK(x.Wait(background))
		if held := lifetime.Holders(); held < 2 {
			k.Errorf("%d of graph and exec keep the memory of the first node", held)
		}
	})
}

func TestBoundNodeOfABodyThatIsGone(t *testing.T) {
	each(t, func(k *kit) {
		a := k.Memory()
		x, _, inside, ops := k.loop(a, a)
		bs := x.Bindings()
		v := graphtest.Bind[uint32](k.Kit, bs, inside, ops[1], "v")
		k.OK(v.Set(1))
		k.OK(bs.Launch(k.S))
		k.OK(inside.Destroy())
		k.OK(v.Set(2))
		if err := bs.Launch(k.S); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a node of a body that was destroyed: %v", err)
		}
		k.OK(x.Launch(k.S))
		k.Expect(a, 1+2*3)
	})
}

func TestBoundConfiguration(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		cfg, err := graph.BindConfig(bs, plus, ops[0])
		k.OK(err)
		v := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
		factor := graphtest.Bind[uint32](k.Kit, bs, times, ops[1], "v")
		k.OK(factor.Set(1))
		k.OK(v.Set(1))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 2)
		k.OK(cfg.Set(driver.LaunchConfig{Grid: driver.D1(3), Block: driver.D1(elems)}))
		if bs.Changed() != 1 {
			k.Errorf("%d nodes changed", bs.Changed())
		}
		k.OK(bs.Launch(k.S)) // the three blocks may add concurrently, so the sum is not checked
		k.OK(bs.Send())
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](plus)
		k.OK(err)
		if p.GridDimX != 1 {
			k.Errorf("the graph has a grid of %d", p.GridDimX)
		}
		k.Wait(k.S)
		k.OK(b.Fill(1))
		k.OK(cfg.Set(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(elems / 2)}))
		k.OK(v.Set(5))
		k.OK(bs.Launch(k.S))
		k.Wait(k.S)
		got := make([]uint32, elems)
		k.OK(b.CopyTo(got))
		if got[0] != 6 || got[elems/2-1] != 6 || got[elems/2] != 1 {
			k.Errorf("with half the threads %v", got)
		}
		k.OK(cfg.Set(config))
		k.OK(cfg.Set(config))
		k.OK(bs.Launch(k.S))
		k.Wait(k.S)
		k.OK(b.CopyTo(got))
		if got[0] != 11 || got[elems-1] != 6 {
			k.Errorf("with all threads again %v", got)
		}
		if ops[0].Config().Block != config.Block {
			k.Error("the launch it was bound with changed")
		}
	})
}

func TestMistakenConfigurationsAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, _, ops := k.Bound(b)
		bs := x.Bindings()
		cfg, err := graph.BindConfig(bs, plus, ops[0])
		k.OK(err)
		if err := cfg.Set(driver.LaunchConfig{Grid: driver.D1(1)}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("no threads: %v", err)
		}
		cooperative := config
		cooperative.Cooperative = true
		if err := cfg.Set(cooperative); !errors.Is(err, driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
			k.Errorf("another attribute: %v", err)
		}
		if _, err := graph.BindConfig(bs, plus, ops[1]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("another launch: %v", err)
		}
		if _, err := graph.BindConfig(nil, plus, ops[0]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("no bindings: %v", err)
		}
		k.OK(bs.Launch(k.S))
		k.Expect(b, 1)
	})
}

// After Unbind, only Exec.Set and updates change the node's parameters.
func TestBindingsAreUndone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		v, factor := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v"), graphtest.Bind[uint32](k.Kit, bs, times, ops[1], "v")
		memory := graphtest.Bind[*driver.Buffer[uint32]](k.Kit, bs, plus, ops[0], "p")
		k.OK(v.Set(4))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 5)
		k.OK(v.Set(1000)) // never applied
		k.OK(bs.Unbind(plus))
		if graph.BoundLen(bs) != 1 || bs.Changed() != 0 {
			k.Errorf("%d bound, %d changed", graph.BoundLen(bs), bs.Changed())
		}
		k.OK(bs.Launch(k.S))
		k.Expect(b, 9)
		for what, err := range map[string]error{"a number": v.Set(1), "the same number": v.Set(1000), "memory": memory.Set(b), "twice": bs.Unbind(plus)} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s, after Unbind: %v", what, err)
			}
		}
		k.OK(x.Set(plus, k.Launch(k.Plus, b, 1)))
		k.OK(factor.Set(2))
		k.OK(bs.Launch(k.S))
		k.Expect(b, 20)
		other := k.Launch(k.Plus, b, 7)
		again := graphtest.Bind[uint32](k.Kit, bs, plus, other, "v")
		k.OK(bs.Launch(k.S))
		k.Expect(b, 54)
		k.OK(again.Set(6))
		if err := v.Set(1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("the Param of before: %v", err)
		}
		k.OK(bs.Launch(k.S))
		k.Expect(b, 120)
		if graph.BoundLen(bs) != 2 {
			k.Errorf("%d bound", graph.BoundLen(bs))
		}
	})
}

func TestBindingAndUnbindingTakesNoMoreMemory(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		x, plus, times, ops := k.Bound(b)
		bs := x.Bindings()
		factor := graphtest.Bind[uint32](k.Kit, bs, times, ops[1], "v")
		for i := range uint32(100) {
			v := graphtest.Bind[uint32](k.Kit, bs, plus, ops[0], "v")
			k.OK(v.Set(i))
			k.OK(factor.Set(1 + i%2))
			k.OK(bs.Launch(k.S))
			k.OK(bs.Unbind(plus))
		}
		if bound, slots := graph.BoundPlaces(bs); bound != 2 || slots != 2 {
			k.Errorf("places for %d nodes and %d numbers, want 2 and 2", bound, slots)
		}
		k.Wait(k.S)
	})
}

func TestConfigurationsOfEachStepAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, graphtest.NullDriver(t)))
		g := k.Graph()
		l := k.Launch(k.Plus, k.Memory(), 1)
		n := k.Add(g, l)
		x := k.Exec(g)
		cfg, err := graph.BindConfig(x.Bindings(), n, l)
		k.OK(err)
		blocks := 0
		k.None("a bound configuration", func() {
			blocks++
			k.OK(cfg.Set(driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(32)}))
			k.OK(x.Bindings().Launch(k.S))
		})
		k.Wait(k.S)
	})
}
