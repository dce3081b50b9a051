package graph_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// lengths stores the length of each slice in its first element.
const lengthsPTX = `.version 6.0
.target sm_52
.address_size 64
.visible .entry lengths(.param .align 8 .b8 x[24], .param .align 8 .b8 y[24])
{
	.reg .b64 %r<4>;
	ld.param.u64 %r0, [x];
	ld.param.u64 %r1, [x+8];
	ld.param.u64 %r2, [y];
	ld.param.u64 %r3, [y+8];
	st.global.u64 [%r0], %r1;
	st.global.u64 [%r2], %r3;
	ret;
}
`

// Every way to give a graph a launch passes memory as slices, and refuses restrict arguments that
// overlap. Afterwards the graph still works with other memory.
func TestSlicesAndRestrictInGraphs(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := try(c.LoadModule([]byte(lengthsPTX)))(t)
		defer m.Close()
		k := try(m.Kernel("lengths"))(t)
		if err := k.Restrict(0); err != nil {
			t.Fatal(err)
		}
		s := try(c.NewStream())(t)
		defer s.Close()
		b := try(driver.Alloc[uint64](c, 8))(t)
		defer b.Close()
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		prepare := func(x, y driver.View[uint64]) *driver.Launch { return try(k.Prepare(cfg, x, y))(t) }
		good, bad := prepare(b.View(0, 3), b.View(3, 8)), prepare(b.View(0, 4), b.View(3, 8))
		refused := func(where string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "overlaps that of argument 0 (x)") {
				t.Errorf("%s: error %v", where, err)
			}
		}
		check := func(where string, first, second int, at int) {
			t.Helper()
			if err := s.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := make([]uint64, 8)
			if err := b.CopyTo(got); err != nil {
				t.Fatal(err)
			}
			if got[0] != uint64(first) || got[at] != uint64(second) {
				t.Errorf("%s: %v, want %d and %d", where, got, first, second)
			}
		}

		g := try(graph.New(c))(t)
		defer g.Close()
		_, err := g.Add(bad)
		refused("Add", err)
		n := try(g.Add(good))(t)
		refused("Node.Set", n.Set(bad))
		_, err = g.AddBatch(nil, []graph.Item{{Op: bad}})
		refused("AddBatch", err)
		_, err = graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Do(bad) })
		refused("Scope.Do", err)
		_, err = graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error { return sc.Burst(func(b *graph.Burst) error { return b.Do(good, bad) }) })
		refused("Burst.Do", err)

		x := try(g.Instantiate())(t)
		defer x.Close()
		run := func() {
			t.Helper()
			if err := x.Launch(s); err != nil {
				t.Fatal(err)
			}
		}
		run()
		check("graph", 3, 5, 3)
		refused("Exec.Set", x.Set(n, bad))
		refused("Exec.SetBatch", x.SetBatch([]graph.Change{{Node: n, Op: bad}}))
		if err := x.Set(n, prepare(b.View(0, 1), b.View(1, 3))); err != nil {
			t.Fatal(err)
		}
		run()
		check("Set", 1, 2, 1)

		bs := x.Bindings()
		px := try(graph.Bind[driver.View[uint64]](bs, n, good, 0))(t)
		py := try(graph.Bind[driver.View[uint64]](bs, n, good, 1))(t)
		set := func(p graph.Param[driver.View[uint64]], from, to int) {
			t.Helper()
			if err := p.Set(b.View(from, to)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			set(px, 0, 6)
			refused("Bindings.Launch", bs.Launch(s))
			set(py, 6, 8)
			if err := bs.Launch(s); err != nil {
				t.Fatal(err)
			}
			check("Bindings", 6, 2, 6)
			set(py, 4, 8)
			refused("Bindings.Launch", bs.Launch(s))
			set(px, 0, 2)
			if err := bs.Launch(s); err != nil {
				t.Fatal(err)
			}
			check("Bindings", 2, 4, 4)
		}
	})
}

func try[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
