package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// noted records an operation and returns its node.
func (k *kit) noted(sc *graph.Scope, op driver.Op) graph.Node {
	k.Helper()
	n, err := sc.Add(op)
	k.ok(err)
	return n
}

// Whoever records a launch gets its node, and changes an argument of it between
// replays.
func TestRecordedLaunchIsBound(t *testing.T) {
	eachMode(t, func(k *kit, mode graph.Mode) {
		b := k.memory()
		step, other := k.launch(k.plus, b, 1), k.launch(k.times, b, 2)
		var n, second graph.Node
		g := k.captureIn(mode, func(sc *graph.Scope) error {
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
		x := k.exec(g)
		v := bind[uint32](k, x.Bindings(), n, step, "v")
		want := uint32(1)
		for i := range uint32(3) {
			k.ok(v.Set(i))
			k.ok(x.Bindings().Launch(k.s))
			want = (want + i) * 2
		}
		k.expect(b, want)
	})
}

func TestNodesOfWhatIsRecorded(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		none, err := driver.CopyDevice[uint32](a.View(0, 0), b.View(0, 0))
		k.ok(err)
		fill, err := driver.Fill[uint32](b, 3)
		k.ok(err)
		e, err := k.c.NewEvent()
		k.ok(err)
		k.closeLater(e)
		record := driver.RecordOp(e)
		ran := make(chan struct{}, 1)
		host, err := driver.NewHostFunc(k.c, func() { ran <- struct{}{} })
		k.ok(err)
		var scope *graph.Scope
		g := k.capture(func(sc *graph.Scope) error {
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
		k.run(k.exec(g))
		<-ran
		k.expect(b, 3)
		if _, err := scope.Add(fill); !errors.Is(err, graph.ErrEnded) {
			k.Errorf("after the end: %v", err)
		}
	})
}

// A launch that is refused ends the capture as one by Do does, and is named.
func TestRecordedNodeThatFails(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memoryOf(1)
		l := k.launch(k.plus, b, 1)
		k.ok(b.Close())
		_, err := graph.Capture(k.s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
			_, err := sc.Add(l)
			return err
		})
		if !errors.Is(err, driver.ErrClosed) || !strings.Contains(err.Error(), "plus") {
			k.Errorf("got %v", err)
		}
		k.usable(k.s)
	})
}

// loop is a graph of two launches, the first of them on a, the second one three
// times in a loop on b.
func (k *kit) loop(a, b *driver.Buffer[uint32]) (x *graph.Exec, outside, inside graph.Node, ops [2]*driver.Launch) {
	k.Helper()
	rounds := k.words(0)
	ops = [2]*driver.Launch{k.launch(k.plus, a, 0), k.launch(k.plus, b, 0)}
	g := k.capture(func(sc *graph.Scope) error {
		outside = k.noted(sc, ops[0])
		c, err := sc.NewCond()
		k.ok(err)
		within, err := c.Within(rounds, 3)
		k.ok(err)
		k.ok(sc.Do(k.op(within.Start())))
		return sc.While(c, func(body *graph.Scope) error {
			inside = k.noted(body, ops[1])
			return body.Do(k.op(within.Next()))
		})
	})
	return k.exec(g), outside, inside, ops
}

func TestLaunchInABodyIsBound(t *testing.T) {
	each(t, func(k *kit) {
		a, b, c := k.memory(), k.memory(), k.memory()
		x, outside, inside, ops := k.loop(a, a)
		bs := x.Bindings()
		v, to := bind[uint32](k, bs, inside, ops[1], "v"), bind[*driver.Buffer[uint32]](k, bs, inside, ops[1], "p")
		first := bind[uint32](k, bs, outside, ops[0], "v")
		k.ok(v.Set(2))
		k.ok(first.Set(100))
		k.ok(bs.Launch(k.s))
		k.expect(a, 1+100+3*2)
		k.ok(to.Set(b))
		k.ok(bs.Launch(k.s))
		k.ok(to.Set(c))
		k.ok(bs.Launch(k.s))
		k.expect(a, 1+3*100+3*2)
		k.expect(b, 1+3*2)
		k.expect(c, 1+3*2)
	})
}

// The numbers of nodes in bodies are not those of the graph: what a node of the
// graph refers to stays when one of a body gets other memory.
func TestBoundLaunchInABodyKeepsOtherNodesMemory(t *testing.T) {
	each(t, func(k *kit) {
		a, b, c := k.memoryOf(1), k.memory(), k.memory()
		x, _, inside, ops := k.loop(a, b)
		bs := x.Bindings()
		to := bind[*driver.Buffer[uint32]](k, bs, inside, ops[1], "p")
		lifetime := a.Ref().Lifetime()
		for _, m := range []*driver.Buffer[uint32]{b, c, b, c} {
			k.ok(to.Set(m))
			k.ok(bs.Launch(k.s))
			k.ok(x.Wait(background))
		}
		k.ok(a.Close())
		k.ok(bs.Launch(k.s)) // reads and writes a
		k.ok(x.Wait(background))
		if held := lifetime.Holders(); held < 2 {
			k.Errorf("%d of graph and exec keep the memory of the first node", held)
		}
	})
}

func TestBoundNodeOfABodyThatIsGone(t *testing.T) {
	each(t, func(k *kit) {
		a := k.memory()
		x, _, inside, ops := k.loop(a, a)
		bs := x.Bindings()
		v := bind[uint32](k, bs, inside, ops[1], "v")
		k.ok(v.Set(1))
		k.ok(bs.Launch(k.s))
		k.ok(inside.Destroy())
		k.ok(v.Set(2))
		if err := bs.Launch(k.s); !errors.Is(err, driver.CUDA_ERROR_INVALID_HANDLE) {
			k.Errorf("a node of a body that was destroyed: %v", err)
		}
		k.ok(x.Launch(k.s))
		k.expect(a, 1+2*3)
	})
}

// Blocks and threads change with each launch, as arguments do.
func TestBoundConfiguration(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		cfg, err := graph.BindConfig(bs, plus, ops[0])
		k.ok(err)
		v := bind[uint32](k, bs, plus, ops[0], "v")
		factor := bind[uint32](k, bs, times, ops[1], "v")
		k.ok(factor.Set(1))
		k.ok(v.Set(1))
		k.ok(bs.Launch(k.s))
		k.expect(b, 2)
		k.ok(cfg.Set(driver.LaunchConfig{Grid: driver.D1(3), Block: driver.D1(elems)}))
		if bs.Changed() != 1 {
			k.Errorf("%d nodes changed", bs.Changed())
		}
		k.ok(bs.Launch(k.s)) // three blocks add one after another, or at once: not what they add is looked at
		k.ok(bs.Send())
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](plus)
		k.ok(err)
		if p.GridDimX != 1 {
			k.Errorf("the graph has a grid of %d", p.GridDimX)
		}
		k.wait(k.s)
		k.ok(b.Fill(1))
		k.ok(cfg.Set(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(elems / 2)}))
		k.ok(v.Set(5))
		k.ok(bs.Launch(k.s))
		k.wait(k.s)
		got := make([]uint32, elems)
		k.ok(b.CopyTo(got))
		if got[0] != 6 || got[elems/2-1] != 6 || got[elems/2] != 1 {
			k.Errorf("with half the threads %v", got)
		}
		k.ok(cfg.Set(config))
		k.ok(cfg.Set(config))
		k.ok(bs.Launch(k.s))
		k.wait(k.s)
		k.ok(b.CopyTo(got))
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
		b := k.memory()
		x, plus, _, ops := k.bound(b)
		bs := x.Bindings()
		cfg, err := graph.BindConfig(bs, plus, ops[0])
		k.ok(err)
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
		k.ok(bs.Launch(k.s))
		k.expect(b, 1)
	})
}

// A node that is bound no more takes what Exec.Set and updates give it.
func TestBindingsAreUndone(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		v, factor := bind[uint32](k, bs, plus, ops[0], "v"), bind[uint32](k, bs, times, ops[1], "v")
		memory := bind[*driver.Buffer[uint32]](k, bs, plus, ops[0], "p")
		k.ok(v.Set(4))
		k.ok(bs.Launch(k.s))
		k.expect(b, 5)
		k.ok(v.Set(1000)) // not sent
		k.ok(bs.Unbind(plus))
		if graph.BoundLen(bs) != 1 || bs.Changed() != 0 {
			k.Errorf("%d bound, %d changed", graph.BoundLen(bs), bs.Changed())
		}
		k.ok(bs.Launch(k.s))
		k.expect(b, 9)
		for what, err := range map[string]error{"a number": v.Set(1), "the same number": v.Set(1000), "memory": memory.Set(b), "twice": bs.Unbind(plus)} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
				k.Errorf("%s, after Unbind: %v", what, err)
			}
		}
		k.ok(x.Set(plus, k.launch(k.plus, b, 1)))
		k.ok(factor.Set(2))
		k.ok(bs.Launch(k.s))
		k.expect(b, 20)
		other := k.launch(k.plus, b, 7)
		again := bind[uint32](k, bs, plus, other, "v")
		k.ok(bs.Launch(k.s))
		k.expect(b, 54)
		k.ok(again.Set(6))
		if err := v.Set(1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("the Param of before: %v", err)
		}
		k.ok(bs.Launch(k.s))
		k.expect(b, 120)
		if graph.BoundLen(bs) != 2 {
			k.Errorf("%d bound", graph.BoundLen(bs))
		}
	})
}

func TestBindingAndUnbindingTakesNoMoreMemory(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		x, plus, times, ops := k.bound(b)
		bs := x.Bindings()
		factor := bind[uint32](k, bs, times, ops[1], "v")
		for i := range uint32(100) {
			v := bind[uint32](k, bs, plus, ops[0], "v")
			k.ok(v.Set(i))
			k.ok(factor.Set(1 + i%2))
			k.ok(bs.Launch(k.s))
			k.ok(bs.Unbind(plus))
		}
		if bound, slots := graph.BoundPlaces(bs); bound != 2 || slots != 2 {
			k.Errorf("places for %d nodes and %d numbers, want 2 and 2", bound, slots)
		}
		k.wait(k.s)
	})
}

func TestConfigurationsOfEachStepAllocateNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, nullDriver(t)))
		g := k.graph()
		l := k.launch(k.plus, k.memory(), 1)
		n := k.add(g, l)
		x := k.exec(g)
		cfg, err := graph.BindConfig(x.Bindings(), n, l)
		k.ok(err)
		blocks := 0
		k.none("a bound configuration", func() {
			blocks++
			k.ok(cfg.Set(driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(32)}))
			k.ok(x.Bindings().Launch(k.s))
		})
		k.wait(k.s)
	})
}
