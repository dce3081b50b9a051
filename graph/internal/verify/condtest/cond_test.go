package condtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
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

func compareAll[T graph.CondWord](k *kit, words []T, constant T) {
	k.Helper()
	cmps := []graph.Cmp{graph.Less, graph.Equal, graph.Greater, graph.LessOrEqual, graph.GreaterOrEqual, graph.NotEqual}
	in, err := driver.AllocFrom(k.C, words[:1])
	k.OK(err)
	k.CloseLater(in)
	out := k.Words(make([]uint32, len(cmps))...)
	g := k.Graph()
	for i, cmp := range cmps {
		c := k.Cond(g)
		n := k.Add(g, k.Op(c.SetWhen(graph.When(in, cmp, constant))))
		_, body := k.AddIf(g, c, n)
		k.Add(body, k.Op(k.Plus.Prepare(one, out.View(i, i+1), uint32(1), uint32(1))))
	}
	x := k.Exec(g)
	for _, w := range words {
		k.OK(in.CopyFrom([]T{w}))
		k.OK(out.Fill(0))
		k.Run(x)
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
		counter, word, b := k.Words(77), k.Words(0), k.Memory()
		g := k.Graph()
		c := k.Cond(g)
		loop, err := c.Within(counter, 10)
		k.OK(err)
		start := k.Add(g, k.Op(loop.Start(graph.When(word, graph.Less, 5))))
		_, body := k.AddWhile(g, c, start)
		add := k.Add(body, k.Launch(k.Plus, b, 1))
		inc := k.Add(body, k.Op(k.Plus.Prepare(one, word, uint32(1), uint32(1))), add)
		k.Add(body, k.Op(loop.Next(graph.When(word, graph.Less, 5))), inc)
		x := k.Exec(g)
		k.Run(x) // the value of the word ends the loop
		k.want("rounds", counter, 5)
		k.Expect(b, 6)
		k.Run(x) // the loop runs no iterations
		k.want("rounds", counter, 0)
		k.Expect(b, 6)
		k.OK(word.Fill(^uint32(0) - 100))
		k.Run(x)
		k.Expect(b, 6)
	})
}

func TestLoopOfAGivenNumberOfRounds(t *testing.T) {
	each(t, func(k *kit) {
		for _, rounds := range []uint32{0, 1, 13} {
			counter, word, a, b := k.Words(5), k.Words(0), k.Memory(), k.Memory()
			g := k.Graph()
			c, d := k.Cond(g), k.Cond(g)
			loop, err := c.Within(counter, rounds)
			k.OK(err)
			start := k.Add(g, k.Op(loop.Start()))
			n, body := k.AddWhile(g, c, start)
			add := k.Add(body, k.Launch(k.Plus, a, 1))
			k.Add(body, k.Op(loop.Next()), add)
			// The limit must also end a loop whose predicate always holds.
			again, err := d.Within(counter, rounds)
			k.OK(err)
			start = k.Add(g, k.Op(again.Start(graph.When(word, graph.Equal, 0))), n)
			_, body = k.AddWhile(g, d, start)
			add = k.Add(body, k.Launch(k.Plus, b, 1))
			k.Add(body, k.Op(again.Next(graph.When(word, graph.Equal, 0))), add)
			k.Run(k.Exec(g))
			k.want("rounds", counter, rounds)
			k.Expect(a, 1+rounds)
			k.Expect(b, 1+rounds)
		}
	})
}

func TestConditionsOfOldDrivers(t *testing.T) {
	for _, version := range []int{12020, 12030, 12060} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			gputest.OnEmulator(t, emulator.Config{DriverVersion: version}, func(t *testing.T, c *driver.Context) {
				k := newKit(t, c)
				g := k.Graph()
				cond, err := g.NewCond()
				if version < 12030 {
					wantTooOld(t, err, "12.3")
					return
				}
				k.OK(err)
				_, _, _, err = g.AddIfElse(cond)
				wantTooOld(t, err, "12.8")
				_, _, err = g.AddSwitch(cond, 2)
				wantTooOld(t, err, "12.8")
				_, body := k.AddWhile(g, cond)
				k.Add(body, k.Op(cond.Set(0)))
				k.Run(k.Exec(g))
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
		a, b := k.Memory(), k.Memory()
		g := k.Graph()
		c := k.Cond(g, graph.WithDefault(1))
		n, body := k.AddIf(g, c)
		inner := k.Cond(g, graph.WithDefault(1))
		_, deep := k.AddIf(body, inner)
		first, second := k.Add(body, k.Launch(k.Plus, a, 1)), k.Add(deep, k.Launch(k.Times, b, 2))
		x := k.Exec(g)
		k.OK(x.Set(first, k.Launch(k.Plus, a, 5)))
		k.Run(x)
		k.Expect(a, 6)
		k.Expect(b, 2)
		gone := k.MemoryOf(3)
		k.OK(x.Set(second, graphtest.Op[*driver.Launch](k.Kit)(k.Times.Prepare(config, gone, uint32(elems), uint32(7)))))
		view := gone.All()
		k.OK(gone.Close()) // the exec must retain the memory
		k.OK(x.Enable(first, false))
		if on, err := x.Enabled(first); err != nil || on {
			k.Errorf("enabled %v, %v", on, err)
		}
		k.Run(x)
		k.Expect(a, 6)
		k.Expect(b, 2)
		_ = view
		k.OK(x.Enable(first, true))
		k.OK(x.Set(second, k.Launch(k.Times, b, 11)))
		k.Run(x)
		k.Expect(a, 11)
		k.Expect(b, 22)
		if err := x.Enable(n, false); err == nil {
			k.Errorf("a conditional node was switched off")
		}
	})
}

// The graph passed to Update has its own conditions. After the update, kernels that set them must
// set the conditions of the Exec's nodes.
func TestUpdateTakesOverKernelsThatSetConditions(t *testing.T) {
	each(t, func(k *kit) {
		build := func(in, out *driver.Buffer[uint32]) *graph.Graph {
			g := k.Graph()
			inner, outer := k.Cond(g), k.Cond(g)
			set := k.Add(g, k.Op(outer.SetWhen(graph.When(in, graph.GreaterOrEqual, 1))))
			_, body := k.AddIf(g, outer, set)
			n := k.Add(body, k.Op(k.Plus.Prepare(one, out, uint32(1), uint32(1))))
			set = k.Add(body, k.Op(inner.SetWhen(graph.When(in, graph.Equal, 2))), n)
			_, then := k.AddIf(body, inner, set)
			k.Add(then, k.Op(k.Plus.Prepare(one, out, uint32(1), uint32(100))))
			return g
		}
		in, out := k.Words(0), k.Words(0)
		x := k.Exec(build(in, out))
		in2, out2 := k.Words(0), k.Words(0)
		g := build(in2, out2)
		sets := func(in, out *driver.Buffer[uint32], want ...uint32) {
			k.Helper()
			for v, w := range want {
				k.OK(in.Fill(uint32(v)))
				k.Run(x)
				k.want(fmt.Sprint("condition set from ", v), out, w)
			}
		}
		sets(in, out, 0, 1, 102)
		r, err := x.Update(g)
		k.OK(err)
		if !r.Updated() {
			k.Fatal(r)
		}
		k.OK(g.Close())
		sets(in2, out2, 0, 1, 102, 103)
		k.want("memory of before", out, 102)
	})
}
