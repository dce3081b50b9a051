package graph_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func scalarOf[T any](k *kit, v T) *graph.Scalar[T] {
	k.Helper()
	s, err := graph.NewScalar(k.C, v)
	k.OK(err)
	k.CloseLater(s)
	return s
}

func fetch[T any](k *kit, m driver.MemoryOf[T]) []T {
	k.Helper()
	k.Wait(k.S)
	got := make([]T, m.All().Len())
	k.OK(m.All().CopyTo(got))
	return got
}

// A graph node reads a scalar that changes between replays. The scalar's address must not change,
// and each replay must read the new value.
func TestScalarHasOneAddressAndANewValueForEachReplay(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		step := scalarOf(k, uint32(1))
		one := b.View(0, 1)
		at := step.Ptr()
		sum, err := k.Sum.Prepare(config, one, one, step, uint32(1))
		k.OK(err)
		x := k.Exec(k.Capture(func(sc *graph.Scope) error { return sc.Do(sum) }))
		want := uint32(1)
		for i := range uint32(200) {
			k.OK(step.Set(k.S, i))
			k.OK(x.Launch(k.S))
			want += i
		}
		if got := fetch(k, one)[0]; got != want {
			t.Errorf("the replays added up to %d, want %d", got, want)
		}
		if step.Ptr() != at {
			t.Error("the address moved")
		}
	})
}

type quad struct{ A, B, C, D uint32 }

// Set must read a value of any size before it returns. Many values are pending while the stream is
// blocked, and each replay must use its own.
func TestScalarValuesOfAllSizesAreReadAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		setMany(k, func(i int) uint8 { return uint8(i) })
		setMany(k, func(i int) int16 { return int16(-i) })
		setMany(k, func(i int) float32 { return float32(i) / 4 })
		setMany(k, func(i int) float64 { return float64(i) / 3 })
		setMany(k, func(i int) [3]byte { return [3]byte{byte(i), 2, byte(-i)} })
		setMany(k, func(i int) quad { return quad{uint32(i), 1, ^uint32(i), 3} })
	})
}

func setMany[T comparable](k *kit, value func(i int) T) {
	k.Helper()
	const n = 50 // fewer than the scalar's ring can hold, so Set must not wait
	s := scalarOf(k, value(1000))
	if got := fetch(k, s)[0]; got != value(1000) {
		k.Fatalf("%v holds %v at first, want %v", s, got, value(1000))
	}
	all, err := driver.Alloc[T](k.C, n)
	k.OK(err)
	k.CloseLater(all)
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	k.OK(k.S.HostFunc(func() { <-gate }))
	for i := range n {
		k.OK(s.Set(k.S, value(i)))
		keep, err := driver.CopyDevice[T](all.View(i, i+1), s)
		k.OK(err)
		k.OK(k.S.Do(keep))
	}
	open()
	for i, got := range fetch(k, all) {
		if got != value(i) {
			k.Fatalf("%v: replay %d found %v, want %v", s, i, got, value(i))
		}
	}
}

func TestScalarSetWaitsRatherThanOverwrite(t *testing.T) {
	each(t, func(k *kit) {
		const n = 500
		s := scalarOf(k, uint64(0))
		all, err := driver.Alloc[uint64](k.C, n)
		k.OK(err)
		k.CloseLater(all)
		for i := range n {
			k.OK(s.Set(k.S, uint64(i)<<40|7))
			keep, err := driver.CopyDevice[uint64](all.View(i, i+1), s)
			k.OK(err)
			k.OK(k.S.Do(keep))
		}
		for i, got := range fetch(k, all) {
			if got != uint64(i)<<40|7 {
				t.Fatalf("value %d is %#x", i, got)
			}
		}
	})
}

func TestScalarRefusesWhatWouldNotDo(t *testing.T) {
	each(t, func(k *kit) {
		s := scalarOf(k, uint64(3))
		_, err := graph.Capture(k.S, graph.ModeGlobal, func(sc *graph.Scope) error { return s.Set(sc.Stream(), 4) })
		if !errors.Is(err, driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) || !strings.Contains(err.Error(), "replay") {
			t.Errorf("Set in a capture: %v", err)
		}
		k.Usable(k.S)
		if _, err := graph.NewScalar(k.C, "text"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("scalar of a string: %v", err)
		}
		other := k.Stream()
		k.OK(other.Close())
		if err := s.Set(other, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed stream: %v", err)
		}
		if err := s.Set(nil, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil stream: %v", err)
		}
		if err := (*graph.Scalar[uint32])(nil).Set(k.S, 1); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("nil scalar: %v", err)
		}
		k.OK((*graph.Scalar[uint32])(nil).Close())
		for _, c := range []interface {
			Close() error
		}{scalarOf(k, uint32(1)), scalarOf(k, uint64(1))} {
			k.OK(c.Close())
			k.OK(c.Close())
		}
		k.OK(s.Close())
		if err := s.Set(k.S, 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("closed scalar: %v", err)
		}
		if got := fetch(k, scalarOf(k, uint64(5)))[0]; got != 5 {
			t.Errorf("a new scalar holds %d", got)
		}
	})
}

func TestScalarOfAnotherDriverIsRefused(t *testing.T) {
	k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	other := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	if err := scalarOf(k, uint32(1)).Set(other.S, 2); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("got %v", err)
	}
}

func TestGraphKeepsItsScalar(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		one := b.View(0, 1)
		s, err := graph.NewScalar(k.C, uint32(41))
		k.OK(err)
		sum, err := k.Sum.Prepare(config, one, one, s, uint32(1))
		k.OK(err)
		g := k.Graph()
		k.Add(g, sum)
		x := k.Exec(g)
		k.OK(s.Close())
		k.Run(x)
		if got := fetch(k, one)[0]; got != 42 {
			t.Errorf("got %d", got)
		}
	})
}

func TestScalarSetAllocatesNothing(t *testing.T) {
	t.Run("null", func(t *testing.T) { scalarSetAllocs(newKit(t, gputest.Context(t, graphtest.NullDriver(t)))) })
	t.Run("gpu", func(t *testing.T) { scalarSetAllocs(newKit(t, gputest.Context(t, gputest.GPU(t)))) })
}

func scalarSetAllocs(k *kit) {
	k.Helper()
	small, wide, big := scalarOf(k, uint32(0)), scalarOf(k, 0.5), scalarOf(k, quad{})
	i := uint32(0)
	for what, set := range map[string]func() error{
		"4 bytes":  func() error { return small.Set(k.S, i) },
		"8 bytes":  func() error { return wide.Set(k.S, float64(i)) },
		"16 bytes": func() error { return big.Set(k.S, quad{A: i}) },
	} {
		k.None(what, func() {
			i++
			k.OK(set())
		})
	}
	k.Wait(k.S)
}

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

// However a launch gets into a graph, its memory must be passed as slices, and overlapping restrict
// arguments must be rejected. Afterwards the graph must still work with other memory.
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
