package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestConditionsAreComparedWithEachTypeOfWord(t *testing.T) {
	each(t, func(k *kit) {
		compareAll(k, []uint32{0, 5, 4000000000}, 5)
		compareAll(k, []int32{-7, 0, 5}, 0)
		compareAll(k, []float32{-1.5, 2.5, 3, nan[float32]()}, 2.5)
		compareAll(k, []uint64{1, 1 << 40, 1<<63 + 1}, 1<<40)
		compareAll(k, []int64{-1 << 40, -5, 1 << 40}, -5)
		compareAll(k, []float64{-1e300, 0.5, 1e300, nan[float64]()}, 0.5)
	})
}

func nan[T float32 | float64]() T {
	var zero T
	return zero / zero
}

func holds[T graph.CondWord](a T, cmp graph.Cmp, b T) bool {
	switch cmp {
	case graph.Less:
		return a < b
	case graph.Equal:
		return a == b
	case graph.Greater:
		return a > b
	case graph.LessOrEqual:
		return a <= b
	case graph.GreaterOrEqual:
		return a >= b
	}
	return a != b
}

// compareAll makes a graph with an IF node for each comparison.
func compareAll[T graph.CondWord](k *kit, words []T, constant T) {
	k.Helper()
	cmps := []graph.Cmp{graph.Less, graph.Equal, graph.Greater, graph.LessOrEqual, graph.GreaterOrEqual, graph.NotEqual}
	in, err := driver.AllocFrom(k.c, words[:1])
	k.ok(err)
	k.closeLater(in)
	out := k.words(make([]uint32, len(cmps))...)
	g := k.graph()
	for i, cmp := range cmps {
		c := k.cond(g)
		n := k.add(g, k.op(c.SetWhen(graph.When(in, cmp, constant))))
		_, body := k.addIf(g, c, n)
		k.add(body, k.op(k.plus.Prepare(one, out.View(i, i+1), uint32(1), uint32(1))))
	}
	x := k.exec(g)
	for _, w := range words {
		k.ok(in.CopyFrom([]T{w}))
		k.ok(out.Fill(0))
		k.run(x)
		want := make([]uint32, len(cmps))
		for i, cmp := range cmps {
			if holds(w, cmp, constant) {
				want[i] = 1
			}
		}
		k.want(fmt.Sprintf("%T %v compared with %v by %v", w, w, constant, cmps), out, want...)
	}
}

func TestBoundedLoop(t *testing.T) {
	each(t, func(k *kit) {
		counter, word, b := k.words(77), k.words(0), k.memory()
		g := k.graph()
		c := k.cond(g)
		loop, err := c.Within(counter, 10)
		k.ok(err)
		start := k.add(g, k.op(loop.Start(graph.When(word, graph.Less, 5))))
		_, body := k.addWhile(g, c, start)
		add := k.add(body, k.launch(k.plus, b, 1))
		inc := k.add(body, k.op(k.plus.Prepare(one, word, uint32(1), uint32(1))), add)
		k.add(body, k.op(loop.Next(graph.When(word, graph.Less, 5))), inc)
		x := k.exec(g)
		k.run(x) // the word ends it
		k.want("rounds", counter, 5)
		k.expect(b, 6)
		k.run(x) // no round at all
		k.want("rounds", counter, 0)
		k.expect(b, 6)
		k.ok(word.Fill(^uint32(0) - 100))
		k.run(x)
		k.expect(b, 6)
	})
}

func TestLoopOfAGivenNumberOfRounds(t *testing.T) {
	each(t, func(k *kit) {
		for _, rounds := range []uint32{0, 1, 13} {
			counter, word, a, b := k.words(5), k.words(0), k.memory(), k.memory()
			g := k.graph()
			c, d := k.cond(g), k.cond(g)
			loop, err := c.Within(counter, rounds)
			k.ok(err)
			start := k.add(g, k.op(loop.Start()))
			n, body := k.addWhile(g, c, start)
			add := k.add(body, k.launch(k.plus, a, 1))
			k.add(body, k.op(loop.Next()), add)
			// The limit ends a loop whose word never would.
			again, err := d.Within(counter, rounds)
			k.ok(err)
			start = k.add(g, k.op(again.Start(graph.When(word, graph.Equal, 0))), n)
			_, body = k.addWhile(g, d, start)
			add = k.add(body, k.launch(k.plus, b, 1))
			k.add(body, k.op(again.Next(graph.When(word, graph.Equal, 0))), add)
			k.run(k.exec(g))
			k.want("rounds", counter, rounds)
			k.expect(a, 1+rounds)
			k.expect(b, 1+rounds)
		}
	})
}

func TestConditionsOfOldDrivers(t *testing.T) {
	for _, version := range []int{12020, 12030, 12060} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				g := k.graph()
				cond, err := g.NewCond()
				if version < 12030 {
					wantTooOld(t, err, "12.3")
					return
				}
				k.ok(err)
				_, _, _, err = g.AddIfElse(cond)
				wantTooOld(t, err, "12.8")
				_, _, err = g.AddSwitch(cond, 2)
				wantTooOld(t, err, "12.8")
				_, body := k.addWhile(g, cond)
				k.add(body, k.op(cond.Set(0)))
				k.run(k.exec(g))
			})
		})
	}
}

func wantTooOld(t *testing.T, err error, since string) {
	t.Helper()
	if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), since) {
		t.Errorf("got %v, want one that says CUDA %s", err, since)
	}
}

func TestExecSetsAndSwitchesNodesInBodies(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.memory(), k.memory()
		g := k.graph()
		c := k.cond(g, graph.WithDefault(1))
		n, body := k.addIf(g, c)
		inner := k.cond(g, graph.WithDefault(1))
		_, deep := k.addIf(body, inner)
		first, second := k.add(body, k.launch(k.plus, a, 1)), k.add(deep, k.launch(k.times, b, 2))
		x := k.exec(g)
		k.ok(x.Set(first, k.launch(k.plus, a, 5)))
		k.run(x)
		k.expect(a, 6)
		k.expect(b, 2)
		gone := k.memoryOf(3)
		k.ok(x.Set(second, op[*driver.Launch](k)(k.times.Prepare(config, gone, uint32(elems), uint32(7)))))
		view := gone.All()
		k.ok(gone.Close()) // the exec keeps it
		k.ok(x.Enable(first, false))
		if on, err := x.Enabled(first); err != nil || on {
			k.Errorf("enabled %v, %v", on, err)
		}
		k.run(x)
		k.expect(a, 6)
		k.expect(b, 2)
		_ = view
		k.ok(x.Enable(first, true))
		k.ok(x.Set(second, k.launch(k.times, b, 11)))
		k.run(x)
		k.expect(a, 11)
		k.expect(b, 22)
		if err := x.Enable(n, false); err == nil {
			k.Errorf("a conditional node was switched off")
		}
	})
}

// The graph of an update has conditions of its own; a kernel that sets one of
// them has to reach the node of the Exec.
func TestUpdateTakesOverKernelsThatSetConditions(t *testing.T) {
	each(t, func(k *kit) {
		build := func(in, out *driver.Buffer[uint32]) *graph.Graph {
			g := k.graph()
			inner, outer := k.cond(g), k.cond(g)
			set := k.add(g, k.op(outer.SetWhen(graph.When(in, graph.GreaterOrEqual, 1))))
			_, body := k.addIf(g, outer, set)
			n := k.add(body, k.op(k.plus.Prepare(one, out, uint32(1), uint32(1))))
			set = k.add(body, k.op(inner.SetWhen(graph.When(in, graph.Equal, 2))), n)
			_, then := k.addIf(body, inner, set)
			k.add(then, k.op(k.plus.Prepare(one, out, uint32(1), uint32(100))))
			return g
		}
		in, out := k.words(0), k.words(0)
		x := k.exec(build(in, out))
		in2, out2 := k.words(0), k.words(0)
		g := build(in2, out2)
		sets := func(in, out *driver.Buffer[uint32], want ...uint32) {
			k.Helper()
			for v, w := range want {
				k.ok(in.Fill(uint32(v)))
				k.run(x)
				k.want(fmt.Sprint("condition set from ", v), out, w)
			}
		}
		sets(in, out, 0, 1, 102)
		r, err := x.Update(g)
		k.ok(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.ok(g.Close())
		sets(in2, out2, 0, 1, 102, 103)
		k.want("memory of before", out, 102)
	})
}
